// Whether a wait polls before it sleeps. Where many in a row have polled in vain, what they wait for comes later than that, or by a
// thread that gets no processor before they sleep: then others are busy, and two ends that poll in turns hold each other up. Such waits
// sleep at once, but for one now and then that tries. Thread: any.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace exs {

class SpinHistory {
 public:
  // In a row, before waits sleep at once.
  static constexpr std::uint32_t kVainMost = 8;
  // Waits for one that tries.
  static constexpr std::uint32_t kRarest = 32;

  [[nodiscard]] bool is_worth_a_try() noexcept {
    if (vain_.load(std::memory_order_relaxed) < kVainMost) return true;
    const std::uint32_t waits = waits_.load(std::memory_order_relaxed) + 1;
    const bool tries = waits >= pause_.load(std::memory_order_relaxed);
    waits_.store(tries ? 0 : waits, std::memory_order_relaxed);
    return tries;
  }
  void found() noexcept {
    if (vain_.load(std::memory_order_relaxed) == 0) return;
    vain_.store(0, std::memory_order_relaxed);
    pause_.store(1, std::memory_order_relaxed);
  }
  void found_nothing() noexcept {
    const std::uint32_t vain = vain_.load(std::memory_order_relaxed);
    if (vain < kVainMost) return vain_.store(vain + 1, std::memory_order_relaxed);
    pause_.store(std::min(2 * pause_.load(std::memory_order_relaxed), kRarest), std::memory_order_relaxed);
  }

 private:
  // Racing changes may be lost: waits poll once more, or once less.
  std::atomic<std::uint32_t> vain_{0};
  std::atomic<std::uint32_t> waits_{0};  // since one tried
  std::atomic<std::uint32_t> pause_{1};
};

}  // namespace exs
