// The processes of this host that use exs, look after look, and how fast their connections are. Thread: the owner's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/top/lanes_reader.h"
#include "tools/top/stats_reader.h"

namespace top {

// Since the look before, or since the connection was opened.
struct Rates {
  double sent_bytes = 0, received_bytes = 0, sends = 0, receives = 0;  // a second
  double stalled = 0;                                                  // part of the time, 0 to 1
};

struct ConnectionRow {
  ShownConnection connection;
  Rates rates;
};

struct ShownProcess {
  int pid = 0;
  std::string program;
  Snapshot snapshot;  // without its connections, which are in the rows
  std::vector<ConnectionRow> rows;
};

class Processes {
 public:
  // `only`: a process; 0: all.
  explicit Processes(int only) : only_(only) {}

  // Those that have pages or lanes now, by number.
  std::vector<ShownProcess> look_again();

 private:
  struct KnownProcess {
    std::optional<tools::ProcFolder> folder;  // if it has a page or lanes
    std::optional<StatsReader> page;
    std::optional<LanesReader> lanes;
    int looks_left = 0;                   // before it is searched again for what it has not
    std::vector<ShownConnection> before;  // by place
  };
  static bool find_counts(int pid, KnownProcess& known);
  static void search(KnownProcess& known);
  static ShownProcess read(int pid, KnownProcess& known, double seconds, std::uint64_t now_ns);

  int only_;
  std::uint64_t last_ns_ = 0;  // CLOCK_MONOTONIC; 0: this is the first look
  std::map<int, KnownProcess> known_;
};

}  // namespace top
