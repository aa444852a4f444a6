// A small process without threads that forks others on demand, so that a process with threads need not fork.
// All of them end with the process that created it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace exs::test {

class ForkServer {
 public:
  // A report about a child: it listens on a port, or it has ended.
  struct Report {
    pid_t pid = 0;
    std::uint32_t birth = 0;
    std::uint16_t port = 0;  // network order; 0: it ended
    int status = 0;          // as waitpid() has it
  };
  using TellPort = std::function<void(std::uint16_t)>;
  // `body` runs in each child and returns the exit status; the caller chooses `birth`, a number for each
  // child. To be created before this process has threads.
  explicit ForkServer(const std::function<int(std::uint32_t birth, const TellPort&)>& body);
  ~ForkServer();
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  void start(std::uint32_t birth) const;
  [[nodiscard]] std::optional<Report> next_report(int timeout_ms) const;

 private:
  pid_t pid_ = 0;
  int orders_ = -1;   // to the fork server
  int reports_ = -1;  // from it and its children
};

}  // namespace exs::test
