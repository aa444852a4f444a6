// Plain recvmsg and sendmsg, one after another.
#pragma once

#include "src/provider/iwarp/backend.h"

namespace exs::iwarp {

// Thread: shard.
class EpollBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "epoll"; }
  [[nodiscard]] std::size_t batch_max() const noexcept override { return 1; }
  void perform(std::span<IoJob> jobs) noexcept override {
    for (IoJob& job : jobs) run_job(job);
  }
  void bind_engine_thread() override {}
};

}  // namespace exs::iwarp
