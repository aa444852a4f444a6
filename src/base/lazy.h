// An object of the whole process that is made on first use and never destroyed: threads may still use it at exit.
#pragma once

#include <atomic>
#include <memory>

namespace exs {

// As a static in a function, but without the lock that others wait for while it is made: in a child of fork that lock would
// be held for ever, if another thread was making the object. Threads that come at the same moment each make one, and the
// first one stays. Has static storage. Thread: any.
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
  // The one of before stays where it is, for whoever knows it.
  void replace(std::unique_ptr<T> other) noexcept { made_.store(other.release(), std::memory_order_release); }

 private:
  std::atomic<T*> made_{nullptr};
};

}  // namespace exs
