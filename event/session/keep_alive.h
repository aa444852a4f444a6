// Keep-alive: a peer that is silent for a period is asked for a sign of life, and given up after a second
// one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "event/engine/deadline.h"
#include "event/session/silent_periods.h"

namespace exs {

// Thread: shard. Only what arrives is a sign of life. A write that has left proves nothing: the kernel takes
// it, whether or not the peer lives.
class KeepAlive {
 public:
  // Two periods end the watch; so does a lack of memory to go on with it.
  enum class Silence : std::uint8_t { kOnePeriod, kTwoPeriods, kNoMemory };
  using Silent = std::function<void(Silence)>;

  KeepAlive(Shard& shard, Silent silent) : shard_(shard), silent_(std::move(silent)) {}

  // `owner`: of this object.
  void start(std::uint64_t period_ns, const std::shared_ptr<void>& owner) {
    shard_.assert_held();
    owner_ = owner;
    heard_ = true;
    due_.set(shard_, periods_.start(period_ns, shard_.clock().now_ns()), owner);
  }
  void stop() noexcept { due_.drop(); }
  // Something came from the peer.
  void heard() noexcept { heard_ = true; }

 private:
  void end_period(std::uint64_t now_ns) {
    shard_.assert_held();
    const SilentPeriods::Proof proof = periods_.end(now_ns, std::exchange(heard_, false));
    if (proof == SilentPeriods::Proof::kIsGone) return silent_(Silence::kTwoPeriods);
    if (const auto owner = owner_.lock()) due_.set(shard_, periods_.due_ns(), owner);
    if (proof == SilentPeriods::Proof::kIsSilent) silent_(Silence::kOnePeriod);
  }

  bool heard_ = false;  // in this period
  Shard& shard_;
  const Silent silent_;
  std::weak_ptr<void> owner_;
  SilentPeriods periods_;
  Deadline due_{[this](std::uint64_t now_ns) {
    try {
      end_period(now_ns);
    } catch (const std::bad_alloc&) {
      silent_(Silence::kNoMemory);
    }
  }};
};

}  // namespace exs
