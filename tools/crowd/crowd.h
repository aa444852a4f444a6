// The two sides of exs-crowd: one server in this process, clients in processes of their own. All go through
// the same steps together, so that the server can be measured between them, while nothing moves.
#pragma once

#include <cstdint>
#include <exs/exs.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/common/memory.h"
#include "tools/common/twin.h"

namespace crowd {

struct CrowdSettings {
  std::uint32_t connections = 10'000;
  std::uint32_t pairs = 10;  // requests, each with a response, of one connection
  std::uint32_t size_bytes = 64;
  std::uint32_t rounds = 2;
  std::uint32_t processes = 2;  // that the clients are spread over
  std::string provider = "auto";
  std::string address = "127.0.0.1";  // of this machine, where both ends are; IPv4
  bool flip = false;                  // spoil a byte of one request of each process, to see that it is found
  bool json = false;
};

// What all do at the same time. Each is over when every connection has done it or failed.
enum class CrowdStep : std::uint8_t { connect, exchange, close };

// Whoever sees nothing happen for this long gives up.
inline constexpr std::int64_t kCrowdPatienceNs = 30'000'000'000;

// Most events that are taken at a time.
inline constexpr std::uint32_t kEventBatch = 64;
// Waits for at least one event; none: the time is over, or a signal came.
std::span<const exs_event_t> take(const exs::cpp::Queue& queue, std::span<exs_event_t> room,
                                  std::int64_t timeout_ns);

// Connections that could not do a step, and why the first of them could not.
struct CrowdFaults {
  std::uint64_t count = 0;
  std::string first;

  void note(const std::string& what, int error);
  void add(const CrowdFaults& others);
};

// One process with its share of the clients.
class CrowdClients {
 public:
  // Before exs_init and before any thread: it forks.
  explicit CrowdClients(const CrowdSettings& settings);
  ~CrowdClients();
  CrowdClients(const CrowdClients&) = delete;
  CrowdClients& operator=(const CrowdClients&) = delete;

  // `connections` is for CrowdStep::connect.
  void order(CrowdStep step, std::uint16_t port, std::uint32_t connections);
  // Whether the step is over for all of them. Throws tools::Failure when the process has ended.
  bool has_answered();
  [[nodiscard]] const CrowdFaults& faults() const { return faults_; }

 private:
  std::unique_ptr<tools::Twin> twin_;
  int orders_ = -1;
  bool waiting_ = false;
  CrowdFaults faults_;
};

// Echoes on every connection, one operation at a time on each.
class CrowdServer {
 public:
  explicit CrowdServer(const CrowdSettings& settings);
  CrowdServer(const CrowdServer&) = delete;
  CrowdServer& operator=(const CrowdServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return listener_.local_address().port(); }
  [[nodiscard]] const std::string& provider() const { return provider_; }

  // Work until so many connections are open, messages echoed in all since reset(), and every client process
  // has answered; or until they have answered and nothing comes any more.
  void serve(std::vector<std::unique_ptr<CrowdClients>>& clients, std::uint32_t open, std::uint64_t echoed);
  void reset() { echoed_ = 0; }

  // Numbers that the library still knows, of all it ever gave to connections.
  [[nodiscard]] std::size_t open_sockets() const;
  [[nodiscard]] const CrowdFaults& faults() const { return faults_; }

 private:
  struct Peer {
    exs::cpp::Socket socket;
    bool receiving = true;  // what is under way; else the send of what came
  };

  void post_accept();
  void handle(const exs_event_t& event);
  void accepted(const exs_event_t& event);
  void transferred(Peer& peer, const exs_event_t& event);
  void post(Peer& peer, std::size_t length_bytes);
  void drop(Peer& peer);

  const CrowdSettings settings_;
  exs::cpp::Queue queue_;
  tools::Slots slots_;
  std::vector<Peer> peers_;
  std::vector<Peer*> free_peers_;
  std::vector<bool> numbers_;  // ever given to a connection
  std::string provider_ = "none";
  std::uint32_t open_ = 0;
  std::uint64_t echoed_ = 0;
  CrowdFaults faults_;
  exs::cpp::Socket listener_;
};

}  // namespace crowd
