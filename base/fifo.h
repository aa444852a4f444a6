// A first-in first-out queue in one growing ring: indexable from the head, and free of allocations once it
// has reached its size. It starts small, because a connection has many queues and most of them hold one entry
// at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace exs {

// Thread: the owner's.
template <typename T>
class Fifo {
 public:
  Fifo() = default;
  Fifo(Fifo&& other) noexcept { swap(other); }
  Fifo& operator=(Fifo&& other) noexcept {
    Fifo taken(std::move(other));
    swap(taken);
    return *this;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  // References stay good until the next push_back.
  T& push_back(T value) {
    if (count_ == capacity_) grow();
    T& slot = slots_[slot_index(count_)];
    slot = std::move(value);
    ++count_;
    return slot;
  }

  // Reserves memory for so many entries at once.
  void reserve(std::size_t count) {
    while (capacity_ < count) grow();
  }

  // append() needs no memory.
  [[nodiscard]] bool has_room() const noexcept { return count_ < capacity_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  // Returns the new last entry for the caller to fill in. It may still hold the value of an entry that was
  // dropped.
  T& append() {
    if (count_ == capacity_) grow();
    return slots_[slot_index(count_++)];
  }

  [[nodiscard]] T& operator[](std::size_t index) {
    EXS_CHECK(index < count_);
    return slots_[slot_index(static_cast<std::uint32_t>(index))];
  }
  [[nodiscard]] const T& operator[](std::size_t index) const { return const_cast<Fifo&>(*this)[index]; }
  [[nodiscard]] T& front() { return (*this)[0]; }
  [[nodiscard]] T& back() { return (*this)[count_ - 1]; }

  T pop_front() {
    T& slot = front();
    T value = std::move(slot);
    if constexpr (!std::is_trivially_destructible_v<T>) slot = T{};  // releases what the entry held
    head_ = slot_index(1);
    --count_;
    return value;
  }

  // Removes an entry from the middle; those behind it close up.
  T take(std::size_t index) {
    T value = std::move((*this)[index]);
    for (std::size_t i = index + 1; i < count_; ++i) (*this)[i - 1] = std::move((*this)[i]);
    pop_back();
    return value;
  }

  // Removes the first entry without copying it. The slot keeps its value, which append() may return.
  void drop_front() {
    EXS_CHECK(count_ > 0);
    head_ = slot_index(1);
    --count_;
  }

  void pop_back() {
    back() = T{};
    --count_;
  }

  void clear() {
    while (!empty()) pop_front();
  }

 private:
  static constexpr std::uint32_t kFirstCapacity = 1;

  [[nodiscard]] std::uint32_t slot_index(std::uint32_t index) const noexcept {
    return (head_ + index) & (capacity_ - 1);
  }

  void grow() {
    constexpr std::uint32_t kCapacityMax = 1U << 31;
    EXS_CHECK(capacity_ < kCapacityMax);
    const std::uint32_t larger = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
    auto slots = std::make_unique<T[]>(larger);
    for (std::uint32_t i = 0; i < count_; ++i) slots[i] = std::move(slots_[slot_index(i)]);
    slots_ = std::move(slots);
    capacity_ = larger;
    head_ = 0;
  }

  void swap(Fifo& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(capacity_, other.capacity_);
    std::swap(head_, other.head_);
    std::swap(count_, other.count_);
  }

  std::unique_ptr<T[]> slots_;
  std::uint32_t capacity_ = 0;  // zero or a power of two
  std::uint32_t head_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace exs
