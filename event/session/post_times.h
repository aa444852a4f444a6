// The times at which the open operations of one direction were posted. They are added nearly in order and
// removed in any order; both cost a binary search at most.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/fifo.h"

namespace exs {

// Thread: the owner's.
class PostTimes {
 public:
  static constexpr std::uint64_t kNone = UINT64_MAX;

  // An operation that another one overtook counts as posted at the same time as that one.
  void add(std::uint64_t posted_ns) {
    if (entries_.empty() || posted_ns > entries_.back().posted_ns) {
      entries_.push_back({posted_ns, 1});
    } else {
      ++entries_[first_from(posted_ns)].open;
    }
  }
  // Finds the same entry as add() did: no entry is ever inserted between two others, and one with an open
  // operation stays.
  void remove(std::uint64_t posted_ns) {
    --entries_[first_from(posted_ns)].open;
    while (!entries_.empty() && entries_.front().open == 0) entries_.pop_front();
  }

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  // The first time later than `ns`; kNone: there is none.
  [[nodiscard]] std::uint64_t first_after(std::uint64_t ns) const {
    for (std::size_t i = first_from(ns + 1); i < entries_.count(); ++i) {
      if (entries_[i].open > 0) return entries_[i].posted_ns;
    }
    return kNone;
  }
  [[nodiscard]] std::uint32_t count_until(std::uint64_t ns) const {
    std::uint32_t count = 0;
    const std::size_t end = first_from(ns + 1);
    for (std::size_t i = 0; i < end; ++i) count += entries_[i].open;
    return count;
  }

 private:
  struct PostTime {
    std::uint64_t posted_ns = 0;
    std::uint32_t open = 0;
  };

  // Index of the first entry that is not before `ns`.
  [[nodiscard]] std::size_t first_from(std::uint64_t ns) const {
    std::size_t low = 0;
    std::size_t high = entries_.count();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (entries_[middle].posted_ns < ns) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  Fifo<PostTime> entries_;
};

}  // namespace exs
