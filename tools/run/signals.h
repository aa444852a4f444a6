// Signals to exs-run, read from a descriptor: ends of processes, and signals for the whole job.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <csignal>
#include <optional>

#include "base/unique_fd.h"

namespace run {

class Signals {
 public:
  // Blocks SIGCHLD, SIGINT and SIGTERM; and SIGPIPE, because a write reports EPIPE.
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  struct Arrival {
    int signal;
    // The terminal signals the whole job itself.
    bool is_of_terminal;
  };
  // Does not wait.
  std::optional<Arrival> take();
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  // Restores the mask in a child process before it executes a program.
  void restore() const;

 private:
  sigset_t before_{};
  exs::UniqueFd descriptor_;
};

}  // namespace run
