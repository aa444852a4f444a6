// One client process with its share of the connections, and the server's commands to it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "tools/common/child_process.h"
#include "tools/crowd/settings.h"

namespace crowd {

class ClientProcess {
 public:
  // Forks: call before exs_init() and before any thread exists.
  explicit ClientProcess(const Settings& settings);
  ~ClientProcess();
  ClientProcess(const ClientProcess&) = delete;
  ClientProcess& operator=(const ClientProcess&) = delete;

  // `connections` is for Phase::connect.
  void start_phase(Phase phase, std::uint16_t port, std::uint32_t connections);
  // Returns true if all of its connections have finished the phase. Throws tools::Failure if the process has ended.
  bool has_finished_phase();
  [[nodiscard]] const ErrorCount& errors() const { return errors_; }

 private:
  [[noreturn]] void fail_as_child();

  std::unique_ptr<tools::ChildProcess> child_;
  int commands_ = -1;
  bool in_phase_ = false;
  ErrorCount errors_;
};

}  // namespace crowd
