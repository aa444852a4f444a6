// The events that wait in a queue, in one growing ring: a cache line for each event, and a word for what keeps its descriptor number.
// The rare event that owns something, or is a notice, has that beside the ring.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/fifo.h"
#include "event/queue/kernel_descriptor.h"
#include "exs/exs.h"

namespace exs {

class SummedEvent;

// Requires the lock of the queue.
class WaitingEvents {
 public:
  // What an event holds until it is taken.
  struct Held {
    DescriptorHold number;
    std::shared_ptr<SummedEvent> notice;  // the event is made when it is taken
  };

  [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
  [[nodiscard]] std::size_t count() const noexcept { return tail_ - head_; }
  // So many events need no memory.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  void reserve(std::size_t count) {
    while (capacity_ < count) grow();
  }

  // Each returns the event for the caller to fill in. `counted` may be null: it names no number.
  exs_event_t& append(KernelDescriptor::Events* counted) noexcept { return append_marked(counted); }
  exs_event_t& append_holding(Held held) {
    held_.push_back(std::move(held));
    return append_marked(&held_);
  }

  // Of the oldest event.
  [[nodiscard]] const exs_event_t& front() const noexcept { return lines_[head_ & (capacity_ - 1)].event; }
  [[nodiscard]] bool front_holds() const noexcept { return front_mark() == &held_; }
  // Null: it names no number, or holds what keeps it.
  [[nodiscard]] KernelDescriptor::Events* front_counted() const noexcept {
    return front_holds() ? nullptr : static_cast<KernelDescriptor::Events*>(front_mark());
  }
  // Requires front_holds().
  [[nodiscard]] Held take_held() { return held_.pop_front(); }
  void drop_front() noexcept {
    EXS_CHECK(!empty());
    ++head_;
  }

 private:
  static constexpr std::uint32_t kFirstCapacity = 1;
  struct alignas(64) EventLine {
    exs_event_t event;
  };
  static_assert(sizeof(EventLine) == sizeof(exs_event_t));

  [[nodiscard]] void* front_mark() const noexcept { return marks_[head_ & (capacity_ - 1)]; }
  exs_event_t& append_marked(void* mark) noexcept {
    EXS_CHECK(count() < capacity_);
    const std::uint32_t at = tail_++ & (capacity_ - 1);
    marks_[at] = mark;
    return lines_[at].event;
  }
  void grow() {
    const std::uint32_t larger = capacity_ == 0 ? kFirstCapacity : 2 * capacity_;
    std::unique_ptr<EventLine[]> lines(new EventLine[larger]);
    std::unique_ptr<void*[]> marks(new void*[larger]);
    held_.reserve(larger);
    for (std::uint32_t i = 0; i < count(); ++i) {
      const std::uint32_t from = (head_ + i) & (capacity_ - 1);
      lines[i] = lines_[from];
      marks[i] = marks_[from];
    }
    tail_ = static_cast<std::uint32_t>(count());
    head_ = 0;
    lines_ = std::move(lines);
    marks_ = std::move(marks);
    capacity_ = larger;
  }

  std::unique_ptr<EventLine[]> lines_;
  std::unique_ptr<void*[]> marks_;  // of each event what it counts in, or the address of held_
  std::uint32_t capacity_ = 0;      // zero or a power of two
  std::uint32_t head_ = 0;          // both count on, modulo 2^32
  std::uint32_t tail_ = 0;
  Fifo<Held> held_;
};

}  // namespace exs
