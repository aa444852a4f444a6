// An object of the whole process that is made on first use and never destroyed: threads may still use it at exit.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <memory>

namespace exs {

// Like a static in a function, but without a lock during its construction. If another thread constructed the
// object during a fork, the child would keep that lock for ever. Threads that come at the same moment each
// make an object, and the first one stays. Has static storage. Thread: any.
template <typename T>
class Lazy {
 public:
  constexpr Lazy() = default;

  // `make` returns a std::unique_ptr<T>.
  template <typename Make>
  T& get(const Make& make) {
    if (T* const there = made_.load(std::memory_order_acquire)) return *there;
    std::unique_ptr<T> mine = make();
    T* there = nullptr;
    if (!made_.compare_exchange_strong(there, mine.get(), std::memory_order_acq_rel)) return *there;
    return *mine.release();
  }
  T& get() {
    return get([] { return std::make_unique<T>(); });
  }
  // Null: not made yet.
  [[nodiscard]] T* made() const noexcept { return made_.load(std::memory_order_acquire); }
  // The previous object stays for its users.
  void replace(std::unique_ptr<T> other) noexcept { made_.store(other.release(), std::memory_order_release); }

 private:
  std::atomic<T*> made_{nullptr};
};

}  // namespace exs
