// The operations that coroutines of a loop await.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_OPERATION_SET_HPP
#define EXS_CPP_OPERATION_SET_HPP

#include <exs/exs.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace exs::cpp {

class Loop;

namespace detail {

class OperationSet;

// What a coroutine awaits. Part of the coroutine frame; its address is the handle of the event.
class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  // Allowed only before it is awaited.
  Operation(Operation&&) noexcept {}
  Operation& operator=(Operation&&) = delete;

 protected:
  std::coroutine_handle<> waiter_;
  exs_event_t event_{};

 private:
  friend Loop;
  friend OperationSet;
  // Its one event has come, and is in event_.
  virtual void complete() { waiter_.resume(); }
  // Another event with its handle. False: it does not want it.
  virtual bool hear(const exs_event_t& /*notice*/) { return false; }

  Operation* next_ = nullptr;  // in its bucket
};

// Finds operations by the handle of an event, which may be anything: the queue of a loop also gets events that
// no coroutine awaits.
class OperationSet {
 public:
  OperationSet() : buckets_(kFirstBuckets) {}

  void add(Operation& operation) noexcept {
    if (count_ >= buckets_.size()) grow();
    link(operation);
    ++count_;
  }
  // Null: it is not here.
  Operation* take(const void* handle) noexcept {
    for (Operation** at = &bucket_of(handle); *at != nullptr; at = &(*at)->next_) {
      if (*at != handle) continue;
      --count_;
      return std::exchange(*at, (*at)->next_);
    }
    return nullptr;
  }
  // Null: it is not here. It stays.
  [[nodiscard]] Operation* find(const void* handle) noexcept {
    Operation* at = bucket_of(handle);
    while (at != nullptr && at != handle) at = at->next_;
    return at;
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (Operation* first : buckets_) {
      for (Operation* operation = first; operation != nullptr; operation = operation->next_) visit(operation);
    }
  }

 private:
  static constexpr std::size_t kFirstBuckets = 64;  // a power of two, as all later ones

  Operation*& bucket_of(const void* handle) noexcept {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
    const std::uint64_t spread = reinterpret_cast<std::uintptr_t>(handle) * kSpread;
    return buckets_[(spread >> 32) & (buckets_.size() - 1)];
  }
  void link(Operation& operation) noexcept {
    Operation*& bucket = bucket_of(&operation);
    operation.next_ = std::exchange(bucket, &operation);
  }
  // Without memory the buckets get longer.
  void grow() noexcept try {
    std::vector<Operation*> before(2 * buckets_.size());
    before.swap(buckets_);
    for (Operation* operation : before) {
      while (operation != nullptr) link(*std::exchange(operation, operation->next_));
    }
  } catch (const std::bad_alloc&) {
  }

  std::vector<Operation*> buckets_;
  std::size_t count_ = 0;
};

}  // namespace detail
}  // namespace exs::cpp

#endif  // EXS_CPP_OPERATION_SET_HPP
