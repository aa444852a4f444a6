// The state of a service's claim that a node and the name thread share: whether another process has overtaken it, and until when it may
// serve. The name thread writes it. The node reads it before it serves anybody, so neither depends on when the other runs. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace exs::svc {

class Hold {
 public:
  explicit Hold(bool is_fenced) noexcept : is_fenced_(is_fenced) {}

  // A directory has granted a lease that lasts longer than that.
  void extend(std::uint64_t until_ns) noexcept { until_ns_.store(until_ns); }
  // The record was renewed with this epoch, to be newer than another.
  void raise(std::uint64_t epoch) noexcept { epoch_.store(epoch); }
  // Another process is the service now.
  void lose() noexcept { is_lost_.store(true); }

  // The service serves only while it has a lease.
  [[nodiscard]] bool is_fenced() const noexcept { return is_fenced_; }
  [[nodiscard]] bool is_lost() const noexcept { return is_lost_.load(); }
  // 0: the epoch is that of the claimed record.
  [[nodiscard]] std::uint64_t raised_epoch() const noexcept { return epoch_.load(); }
  [[nodiscard]] std::uint64_t until_ns() const noexcept { return until_ns_.load(); }
  [[nodiscard]] bool was_granted() const noexcept { return until_ns() != 0; }
  [[nodiscard]] bool may_serve(std::uint64_t now) const noexcept {
    return !is_lost() && (!is_fenced_ || now < until_ns());
  }

 private:
  const bool is_fenced_;
  std::atomic<bool> is_lost_{false};
  std::atomic<std::uint64_t> until_ns_{0};
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace exs::svc
