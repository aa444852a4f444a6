// The numbers by which a peer addresses the links of a channel here.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace exs::shm {

class ShmLink;

// A number has an index into the table, and in the upper bits the generation of its entry. A late record for
// a link that has gone does not reach its successor. Thread: shard.
class LinkTable {
 public:
  // A number that no link has; never 0. ENOSPC: too many.
  Result<std::uint32_t> reserve();
  void attach(std::uint32_t number, ShmLink& link);
  void remove(std::uint32_t number);
  // Null: the link has gone or is not attached yet, or the number was never given.
  [[nodiscard]] ShmLink* find(std::uint32_t number) const noexcept {
    const std::uint32_t index = number & kIndexMask;
    return index < entries_.size() && entries_[index].number == number ? entries_[index].link : nullptr;
  }
  [[nodiscard]] bool is_reserved(std::uint32_t number) const noexcept;
  // Reserved or attached.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  // `function` may remove the link.
  template <typename Function>
  void for_each(Function function) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].link != nullptr) function(*entries_[i].link);
    }
  }

 private:
  static constexpr int kIndexBits = 20;
  static constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;

  struct NumberedLink {
    std::uint32_t number = 0;  // what it is called now: generation, index; 0: free
    std::uint32_t generation = 0;
    ShmLink* link = nullptr;
  };

  std::vector<NumberedLink> entries_{1};  // the first is never given
  std::vector<std::uint32_t> free_;
  std::size_t count_ = 0;
};

}  // namespace exs::shm
