// What all commands of exs-services share: the settings, names and IDs, and a peer of a node of its own.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/service.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace services {

struct Settings {
  std::string what;                // a command, or a name
  std::vector<std::string> words;  // what follows it
  std::string cap;                 // its text, or a file that contains it
  std::string names;
  std::string provider = "auto";
  std::string rights = "all";
  std::uint32_t serial = 0;
  double days = 0;  // 0: for ever
  double limit_seconds = 2;
  bool hex = false;
  bool watch = false;
  bool json = false;
};

// Throws tools::Failure "WHAT: the words of the library".
[[noreturn]] void fail(const std::string& what);

std::int64_t limit_ns(const Settings& settings);
std::string text_of(const exs_svc_id_t& id);
// Formats in UTC, as ISO 8601.
std::string date_of(std::int64_t ms);
std::string path_of_names(const Settings& settings);
exs_svc_id_t find(const Settings& settings, const std::string& name);
// Returns the text of a capability, which is `given` or in the file `given`. Nothing: neither.
std::optional<std::string> cap_text_of(const std::string& given);

// A service of this host.
struct Service {
  std::string name;
  exs_svc_id_t id{};
  int error = 0;    // ENOENT: no process here is it
  std::string why;  // of another error
  exs_svc_place_t place{};
};
Service locate(const std::string& name, const exs_svc_id_t& id, std::int64_t limit_ns);

// Describes why a service was not reached, or did not do what it was asked.
std::string words_of(int error, const exs_svc_id_t& id);

// A peer to ask one service, on any host.
class Client {
 public:
  Client(const Settings& settings, const exs_svc_id_t& id);

  [[nodiscard]] exs_svc_peer_t* peer() const { return peer_; }
  // Returns the next event. Nothing: it did not come in one and a half times --timeout. A service that is not on this host has some time
  // more: that nobody is the service comes as an event, which a busy machine may delay.
  std::optional<exs_svc_event_t> wait();
  // wait() takes no longer.
  [[nodiscard]] std::int64_t longest_wait_ns() const;

 private:
  std::unique_ptr<exs_svc_node_t, decltype(&exs_svc_node_close)> node_;
  const exs_svc_id_t id_;
  exs_svc_peer_t* peer_;  // the node closes it
  const std::int64_t wait_ns_;
};

// The commands. Each returns the exit status.
int make_key(const Settings& settings);
int print_id(const Settings& settings);
int make_or_print_capability(const Settings& settings);
int send_message(const Settings& settings);
int make_request(const Settings& settings);

}  // namespace services
