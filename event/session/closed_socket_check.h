// Finds out that the application has closed an adopted socket on which operations wait: close(2) of a
// descriptor notifies nobody. The check runs after 1, 2, 4 ... 64 seconds, so that ten thousand waiting
// connections cost next to nothing.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/contain.h"
#include "event/engine/deadline.h"

namespace exs {

// A member of the session or acceptor whose socket it checks. Thread: shard.
class ClosedSocketCheck {
 public:
  // `still_waits` checks the socket; true: operations still wait on it.
  ClosedSocketCheck(Shard& shard, std::function<bool()> still_waits)
      : shard_(shard), still_waits_(std::move(still_waits)), next_([this](std::uint64_t now_ns) {
          contain([&] { check_owner(now_ns); }, [] {});  // the next operation that waits begins again
        }) {}

  // An operation waits. `owner`: of this object.
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

  void check_owner(std::uint64_t now_ns) {
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
