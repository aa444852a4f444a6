// The bytes of unmatched messages that either end holds for the other. A message that travels before its
// match spends bytes of the receiver's window. They come back when a receive has taken it. So a peer can make
// this process keep only bounded memory, whatever it sends.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/status.h"
#include "src/log/log.h"

namespace exs::proto {

// Thread: shard.
class EagerWindow {
 public:
  EagerWindow(std::uint64_t out_bytes, std::uint64_t in_bytes) : out_total_(out_bytes), in_total_(in_bytes) {}

  // The cost of a message of that length: its bytes, and the record of it.
  [[nodiscard]] static std::uint32_t cost_of(std::uint64_t length_bytes) noexcept {
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(length_bytes, 64) + 64);
  }

  // Our sends.
  [[nodiscard]] bool has_room(std::uint32_t cost) const noexcept { return spent_ + cost <= out_total_; }
  void spend(std::uint32_t cost) noexcept { spent_ += cost; }
  [[nodiscard]] bool may_take_back(std::uint32_t returned) const noexcept { return returned <= spent_; }
  // Requires may_take_back().
  void add_back(std::uint32_t returned) noexcept { spent_ -= returned; }
  // EPROTO: more than were spent.
  Status take_back(std::uint32_t returned) {
    if (!may_take_back(returned)) {
      return fault(LogLevel::kWarn, EPROTO, "protocol error: peer returned {} eager bytes, {} were spent",
                   returned, spent_);
    }
    add_back(returned);
    return {};
  }

  // The peer's sends.
  [[nodiscard]] bool may_arrive(std::uint32_t cost) const noexcept {
    return held_ + owed_ + cost <= in_total_;
  }
  // Requires may_arrive().
  void hold(std::uint32_t cost) noexcept { held_ += cost; }
  // EPROTO: more than its window.
  Status arrived(std::uint32_t cost) {
    if (!may_arrive(cost)) {
      return fault(LogLevel::kWarn, EPROTO, "protocol error: {} eager bytes, and {} of {} are in use", cost,
                   held_ + owed_, in_total_);
    }
    hold(cost);
    return {};
  }
  void owe(std::uint32_t cost) noexcept {
    held_ -= cost;
    owed_ += cost;
  }
  [[nodiscard]] std::uint32_t owed() const noexcept { return static_cast<std::uint32_t>(owed_); }
  void returned(std::uint32_t bytes) noexcept { owed_ -= bytes; }
  [[nodiscard]] bool return_is_due() const noexcept { return owed_ > 0 && 2 * owed_ >= in_total_; }

 private:
  const std::uint64_t out_total_;
  const std::uint64_t in_total_;
  std::uint64_t spent_ = 0;
  std::uint64_t held_ = 0;  // no receive has taken them
  std::uint64_t owed_ = 0;  // taken, and not returned yet
};

}  // namespace exs::proto
