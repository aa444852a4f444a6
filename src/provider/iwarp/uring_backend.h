// Batches of calls through an io_uring that belongs to the engine thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <thread>

#include "src/provider/iwarp/backend.h"

struct io_uring;

namespace exs::iwarp {

// With SINGLE_ISSUER and DEFER_TASKRUN only one thread may enter the ring; a thread that drives by spinning
// uses plain calls, which are also faster for one socket. No request outlives perform(): all carry
// MSG_DONTWAIT, so the kernel finishes them while it takes them in.
// Thread: shard.
class UringBackend final : public Backend, private SingleIssuer {
 public:
  UringBackend();
  ~UringBackend() override;

  // Tests whether the kernel and its policy allow such a ring.
  static Status probe();

  [[nodiscard]] std::string_view name() const noexcept override { return "io_uring"; }
  [[nodiscard]] std::size_t batch_max() const noexcept override { return kBatchMax; }
  void perform(std::span<IoJob> jobs) noexcept override;
  [[nodiscard]] SingleIssuer* single_issuer() noexcept override { return this; }
  [[nodiscard]] const Reason& limitation() const noexcept override { return why_no_ring_; }

  // For tests: batches that went through the ring.
  [[nodiscard]] std::uint64_t batches_through_ring() const noexcept { return batches_; }

 private:
  static constexpr std::size_t kBatchMax = 16;

  void bind_thread() override;  // opens the ring
  void perform_through_ring(std::span<IoJob> jobs) noexcept;
  std::size_t reap(std::span<IoJob> jobs) noexcept;
  void drop_ring() noexcept;

  std::unique_ptr<io_uring> ring_;
  std::thread::id issuer_;
  std::uint64_t batches_ = 0;
  Reason why_no_ring_;
};

}  // namespace exs::iwarp
