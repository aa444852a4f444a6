// One connection between two processes, each confined in its own way, and what each end says of it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/exs.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace exs::test {

// Before any thread of the process; false: it cannot be had here, the case is skipped.
using Confinement = std::function<bool()>;

struct End {
  std::string wish = "auto";                       // EXS_SO_PROVIDER; empty: the environment's
  std::map<std::string, std::string> environment;  // EXS_*
  Confinement confine;                             // before exs_init
  // After the network socket is there, and before the library has any thread: a socket stays in the network
  // namespace that it was made in.
  Confinement confine_library;
  // The library has its queue and its threads, the connection is next.
  Confinement confine_connection;
  bool in_own_pid_namespace = false;
};

struct Told {
  bool confined = false;    // false: skipped
  int error = 0;            // errno of the connect; -1: this end saw no connection
  bool data_right = false;  // a long message of plain memory arrived as it was sent
  std::string provider;
  std::vector<exs_reason_t> reasons;

  [[nodiscard]] const exs_reason_t* find(const std::string& of_provider, int verdict) const;
};

struct Ends {
  Told server;
  Told client;
  // Says so, and counts, when not.
  [[nodiscard]] bool ran() const;
};

// `port_of_server` -> the port that the client connects to; for who stands between them.
using Detour = std::function<std::uint16_t(std::uint16_t port_of_server)>;

// Before any thread of this process: it forks.
Ends connect_ends(const End& server, const End& client, const Detour& detour = {});

// --- checks, by Boost.Test ---
void check_used(const Told& end, const std::string& provider);
// The reason is there with its name, fact and cure, exactly as told.
void check_refused(const Told& end, const std::string& provider, int code, bool told_by_peer);
void check_limited(const Told& end, const std::string& provider, int code);
void check_unlimited(const Told& end);

bool is_root();

}  // namespace exs::test
