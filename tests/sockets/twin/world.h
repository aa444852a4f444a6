// The processes of one world, plain or with a preloaded library, and their channels. Thread: the controller's
// only one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

#include "tests/sockets/twin/model.h"
#include "tests/sockets/twin/protocol.h"

namespace twin {

class World {
 public:
  // `environment`: "NAME=VALUE" in addition to this process's. Starts the roots, which say hello.
  explicit World(const std::vector<std::string>& environment);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void tell(std::size_t process, const Command& command);
  // kHung: no answer arrived in time, or the process has ended.
  Answer answer(std::size_t process);
  // Kills the process and waits until its descriptors are closed.
  void kill(std::size_t process);
  // Waits for a process that ends by itself. Returns the wait status of a root.
  int wait_for_end(std::size_t process);
  void note_child(std::size_t process, pid_t pid) { pids_[process] = pid; }

 private:
  void start_root(std::size_t process, const std::vector<std::string>& environment, int passing, int taking);
  bool ends_within(std::size_t process, int timeout_ms);

  std::array<int, kProcesses> channels_ = {-1, -1, -1, -1};
  std::array<pid_t, kProcesses> pids_ = {-1, -1, -1, -1};
};

}  // namespace twin
