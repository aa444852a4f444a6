// Words that two processes share. Each load acquires and each store releases, so a reader of a word also sees
// what was stored before it. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace exs::lane {

template <typename T>
class SharedWord {
 public:
  [[nodiscard]] T load() const noexcept { return value_.load(std::memory_order_acquire); }
  void store(T value) noexcept { value_.store(value, std::memory_order_release); }
  T fetch_or(T bits) noexcept { return value_.fetch_or(bits, std::memory_order_acq_rel); }
  T fetch_and(T bits) noexcept { return value_.fetch_and(bits, std::memory_order_acq_rel); }
  T exchange(T value) noexcept { return value_.exchange(value, std::memory_order_acq_rel); }
  // Replaces the value by change(value) in one atomic step; mostly the two are equal. Returns the old value.
  template <typename Change>
  T update(const Change& change) noexcept {
    T before = value_.fetch_or(0, std::memory_order_acq_rel);  // takes the cache line exclusively
    while (change(before) != before &&
           !value_.compare_exchange_weak(before, change(before), std::memory_order_acq_rel)) {
    }
    return before;
  }
  // Replaces `before` by `after`. False: the value was another one.
  bool exchange_if(T before, T after) noexcept {
    return value_.compare_exchange_strong(before, after, std::memory_order_acq_rel);
  }

 private:
  static_assert(std::atomic<T>::is_always_lock_free);
  std::atomic<T> value_;
};

}  // namespace exs::lane
