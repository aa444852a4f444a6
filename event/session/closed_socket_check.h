// While operations wait on a socket of the application: looks now and then whether it is still there, because
// closing a descriptor tells nobody. Seldom, and more seldom the longer nothing happens, so that ten thousand
// waiting connections cost next to nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

#include "event/engine/deadline.h"

namespace exs {

// Thread: shard. A member of what it looks after.
class ClosedSocketCheck {
 public:
  // `still_waits` looks, and answers.
  ClosedSocketCheck(Shard& shard, std::function<bool()> still_waits)
      : shard_(shard),
        still_waits_(std::move(still_waits)),
        next_([this](std::uint64_t now_ns) { look(now_ns); }) {}

  // Something waits. `owner`: of this object.
  void start(const std::shared_ptr<void>& owner) {
    shard_.assert_held();
    if (next_.is_set()) return;
    owner_ = owner;
    interval_ns_ = kShortestNs;
    next_.set(shard_, shard_.clock().now_ns() + interval_ns_, owner);
  }

 private:
  static constexpr std::uint64_t kShortestNs = 1'000'000'000;
  static constexpr std::uint64_t kLongestNs = 64 * kShortestNs;

  void look(std::uint64_t now_ns) {
    shard_.assert_held();
    const auto owner = owner_.lock();
    if (!owner || !still_waits_()) return;
    interval_ns_ = std::min(2 * interval_ns_, kLongestNs);
    next_.set(shard_, now_ns + interval_ns_, owner);
  }

  Shard& shard_;
  const std::function<bool()> still_waits_;
  Deadline next_;
  std::weak_ptr<void> owner_;
  std::uint64_t interval_ns_ = 0;
};

}  // namespace exs
