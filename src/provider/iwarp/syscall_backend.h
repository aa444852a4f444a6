// Plain recvmsg and sendmsg, one after another.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/provider/iwarp/backend.h"

namespace exs::iwarp {

// Thread: shard.
class SyscallBackend final : public Backend {
 public:
  explicit SyscallBackend(const Reason& why = {}) : why_(why) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "epoll"; }
  [[nodiscard]] std::size_t batch_max() const noexcept override { return 1; }
  void perform(std::span<IoJob> jobs) noexcept override {
    for (IoJob& job : jobs) run_job(job);
  }
  [[nodiscard]] const Reason& limitation() const noexcept override { return why_; }

 private:
  const Reason why_;
};

}  // namespace exs::iwarp
