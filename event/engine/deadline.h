// A deadline that can be moved or dropped. Only the timer of the time that was set last has an effect.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "event/engine/shard.h"

namespace exs {

// Thread: shard.
class Deadline final : public TimerClient {
 public:
  explicit Deadline(std::function<void(std::uint64_t now_ns)> due) : due_(std::move(due)) {}

  // Replaces the time that was set. `owner` owns this object, and may end before that time.
  void set(Shard& shard, std::uint64_t at_ns, const std::shared_ptr<void>& owner) {
    shard.assert_held();
    shard.arm_timer(at_ns, std::shared_ptr<TimerClient>(owner, this));
    at_ns_ = at_ns;
  }
  void drop() noexcept { at_ns_ = kNoDeadline; }
  [[nodiscard]] bool is_set() const noexcept { return at_ns_ != kNoDeadline; }

  void timer_fired(std::uint64_t now_ns) override {
    if (now_ns < at_ns_) return;
    drop();
    due_(now_ns);
  }
  [[nodiscard]] bool still_wants(std::uint64_t deadline_ns) const override { return deadline_ns == at_ns_; }

 private:
  const std::function<void(std::uint64_t)> due_;
  std::uint64_t at_ns_ = kNoDeadline;
};

}  // namespace exs
