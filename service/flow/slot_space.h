// Allocates slots of any length in a piece of memory: best fit. It never reads the memory itself, which others may write. Thread: one at
// a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"

namespace exs::svc {

class SlotSpace {
 public:
  // Slots begin and end at multiples of this, so no two share a cache line.
  static constexpr std::size_t kUnit = 64;

  explicit SlotSpace(std::size_t bytes) { add_gap(0, bytes / kUnit * kUnit); }

  // Returns where the slot begins, or nothing if no gap is long enough. `bytes` is not 0.
  std::optional<std::size_t> take(std::size_t bytes);
  [[nodiscard]] bool is_slot(std::size_t start) const { return slots_.contains(start); }
  // Frees the slot that begins there.
  void give_back(std::size_t start);
  // Returns the start of the slot that contains all of these bytes.
  [[nodiscard]] std::optional<std::size_t> slot_of(std::size_t start, std::size_t bytes) const;
  [[nodiscard]] bool is_empty() const noexcept { return slots_.empty(); }

 private:
  using Gaps = std::map<std::size_t, std::size_t>;  // bytes of each gap, by its start
  void add_gap(std::size_t start, std::size_t bytes) {
    if (bytes == 0) return;
    by_start_.emplace(start, bytes);
    by_bytes_.emplace(bytes, start);
  }
  void remove_gap(Gaps::iterator gap) {
    by_bytes_.erase({gap->second, gap->first});
    by_start_.erase(gap);
  }

  Gaps by_start_;
  std::set<std::pair<std::size_t, std::size_t>> by_bytes_;
  struct Slot {
    std::size_t asked_bytes;
    std::size_t taken_bytes;
  };
  std::map<std::size_t, Slot> slots_;
};

inline std::optional<std::size_t> SlotSpace::take(std::size_t bytes) {
  if (bytes > SIZE_MAX - kUnit) return {};
  const std::size_t taken_bytes = (bytes + kUnit - 1) / kUnit * kUnit;
  const auto found = by_bytes_.lower_bound({taken_bytes, 0});
  if (found == by_bytes_.end()) return {};
  const auto [gap_bytes, start] = *found;
  slots_.emplace(start, Slot{bytes, taken_bytes});
  remove_gap(by_start_.find(start));
  add_gap(start + taken_bytes, gap_bytes - taken_bytes);
  return start;
}

// Merges the freed slot with the gaps before and behind it.
inline void SlotSpace::give_back(std::size_t start) {
  const auto slot = slots_.find(start);
  EXS_CHECK(slot != slots_.end());
  std::size_t first = start;
  std::size_t end = start + slot->second.taken_bytes;
  slots_.erase(slot);
  if (const auto behind = by_start_.find(end); behind != by_start_.end()) {
    end += behind->second;
    remove_gap(behind);
  }
  auto before = by_start_.lower_bound(first);
  if (before != by_start_.begin() && (--before)->first + before->second == first) {
    first = before->first;
    remove_gap(before);
  }
  add_gap(first, end - first);
}

inline std::optional<std::size_t> SlotSpace::slot_of(std::size_t start, std::size_t bytes) const {
  auto slot = slots_.upper_bound(start);
  if (slot == slots_.begin()) return {};
  --slot;
  const std::size_t into_bytes = start - slot->first;
  if (into_bytes > slot->second.asked_bytes || bytes > slot->second.asked_bytes - into_bytes) return {};
  return slot->first;
}

}  // namespace exs::svc
