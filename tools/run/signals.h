// Signals to exs-run, taken by descriptor: that processes have ended, and what is meant for all of the job.
#pragma once

#include <csignal>
#include <optional>

#include "tools/run/descriptor.h"

namespace run {

class Signals {
 public:
  // Holds back SIGCHLD, SIGINT and SIGTERM; and SIGPIPE, which a write tells by itself.
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  struct Arrival {
    int signal;
    // The terminal sends its signals to all of the job itself.
    bool is_of_terminal;
  };
  // Does not wait.
  std::optional<Arrival> take();
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  // For a child process before it becomes a program.
  void restore() const;

 private:
  sigset_t before_{};
  Descriptor descriptor_;
};

}  // namespace run
