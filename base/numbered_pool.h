// Entries by number, and numbers that are used again.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace exs {

// Thread: the owner's.
template <typename Entry>
class NumberedPool {
 public:
  // A number whose entry is to be written. Throws std::bad_alloc, and nothing has changed.
  std::uint32_t take_number() {
    if (free_.empty()) {
      if (free_.capacity() <= entries_.size()) free_.reserve(2 * entries_.size() + 1);
      entries_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  void give_back(std::uint32_t number) noexcept { free_.push_back(number); }
  // There ever were.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::size_t taken() const noexcept { return entries_.size() - free_.size(); }
  [[nodiscard]] Entry& operator[](std::uint32_t number) noexcept { return entries_[number]; }
  [[nodiscard]] const Entry& operator[](std::uint32_t number) const noexcept { return entries_[number]; }
  // All entries, also of numbers that are free.
  [[nodiscard]] auto begin() noexcept { return entries_.begin(); }
  [[nodiscard]] auto end() noexcept { return entries_.end(); }
  void clear() noexcept {
    entries_.clear();
    free_.clear();
  }

 private:
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;  // with room for all
};

}  // namespace exs
