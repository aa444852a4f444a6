// Child processes of tests, and a pipe that carries a port between them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>

namespace exs::test {

// Passes the port of a listening socket from one process to the other.
class PortPipe {
 public:
  PortPipe() {
    if (::pipe(ends_.data()) != 0) std::abort();
  }
  ~PortPipe() {
    for (const int end : ends_) ::close(end);
  }
  PortPipe(const PortPipe&) = delete;
  PortPipe& operator=(const PortPipe&) = delete;
  void tell(std::uint16_t port) const {
    if (::write(ends_[1], &port, sizeof port) != sizeof port) std::abort();
  }
  [[nodiscard]] std::uint16_t hear() const {
    std::uint16_t port = 0;
    if (::read(ends_[0], &port, sizeof port) != sizeof port) std::abort();
    return port;
  }

 private:
  std::array<int, 2> ends_{};
};

// A child process. Create it before this process has threads.
class Child {
 public:
  template <typename Body>
  explicit Child(Body body) : pid_(::fork()) {
    if (pid_ != 0) return;
    try {
      body();
    } catch (...) {  // the exception must not reach the test runner that the child is a copy of
      ::_exit(1);
    }
    ::_exit(0);
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void signal(int number) const { ::kill(pid_, number); }
  // Returns when the kernel reports the child as stopped.
  void stop() const {
    signal(SIGSTOP);
    int status = 0;
    if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status)) std::abort();
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) != pid_) {
    }
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

}  // namespace exs::test
