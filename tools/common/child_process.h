// A child process, and pinning a process to a core.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>

namespace tools {

// Pins this process to the core with this index among those it may use. Returns false if it may use fewer than two.
bool pin_to_core(unsigned index);

// A child process made by fork: call before any thread exists. The child ends when its parent does.
class ChildProcess {
 public:
  // The child runs `body` and exits with what it returns.
  explicit ChildProcess(const std::function<int()>& body);
  ~ChildProcess() { stop(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Ends the child with SIGTERM, if it still runs, and waits for it. Returns its exit status, or -1 if a
  // signal ended it.
  int stop();
  // Waits until the child has ended by itself. Returns the signal that ended it, 0 if none did.
  int wait_for_end();
  [[nodiscard]] int pid() const { return pid_; }

 private:
  void wait();

  int pid_;         // -1: ended, and waited for
  int status_ = 0;  // of waitpid
};

}  // namespace tools
