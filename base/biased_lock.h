// A lock with a bias (bias.h): its usual thread takes it without a locked instruction. For locks that mostly one thread takes, millions
// of times a second: the drive lock of a shard, the lock of an event queue.
//
// Whoever finds it taken may leave work to the holder, which looks for such work after its unlock() (a shard's commands). So try_lock()
// returns false only if a holder's unlock() is still to come:
//  - A thread that tries, and has to withdraw the bias first, says so (kWithdrawing). Others wait for what comes of that, some 10 us.
//  - A thread that waits for the lock does become its holder.
//  - An owner that is inside at the barrier looks for work after the barrier, and so finds all that was left before.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/annotations.h"
#include "base/backoff.h"
#include "base/bias.h"
#include "base/check.h"

namespace exs {

// How a thread waits for the lock. kAsleep: in the kernel. kAwake: as Backoff does; then the lock may be destroyed as soon as another
// thread can lock it.
enum class LockWait : std::uint8_t { kAsleep, kAwake };

// Debug builds know which thread holds it. Thread: any.
template <LockWait kWait>
class EXS_CAPABILITY("biased lock") BiasedLock {
 public:
  void lock() EXS_ACQUIRE() {
    if (bias_.enter()) return taken(true);
    std::uint32_t was = kFree;
    if (!state_.compare_exchange_strong(was, kHeld, std::memory_order_acquire)) acquire();
    taken(false);
  }
  [[nodiscard]] bool try_lock() EXS_TRY_ACQUIRE(true) {
    if (bias_.enter()) {
      taken(true);
      return true;
    }
    std::uint32_t was = kFree;
    if (!state_.compare_exchange_strong(was, kHeld, std::memory_order_acquire) && !try_acquire(was))
      return false;
    taken(false);
    return true;
  }
  // What the caller loads later is no older than the end of its turn, or than the barrier that met it inside.
  void unlock() EXS_RELEASE() {
#ifdef EXS_DEBUG
    holder_.store({}, std::memory_order_relaxed);
#endif
    if (by_bias_) return bias_.leave();
    const bool grants =
        bias_.count_turn() && state_.load(std::memory_order_relaxed) == kHeld && bias_.grant();
    const std::uint32_t was = state_.exchange(grants ? kBiased : kFree, std::memory_order_seq_cst);
    if constexpr (kWait == LockWait::kAsleep) {
      if (was == kAwaited) state_.notify_one();
    }
  }
  void assert_held() const EXS_ASSERT_CAPABILITY(this) {
#ifdef EXS_DEBUG
    EXS_CHECK(holder_.load(std::memory_order_relaxed) == std::this_thread::get_id());
#endif
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  // Held, and a thread may be asleep until it is not.
  static constexpr std::uint32_t kAwaited = 2;
  // Not held by the word; a thread may own it, or be inside still.
  static constexpr std::uint32_t kBiased = 3;
  // As kBiased, for the moment in which a thread tries to take it.
  static constexpr std::uint32_t kWithdrawing = 4;

  void taken(bool by_bias) noexcept {
    by_bias_ = by_bias;
#ifdef EXS_DEBUG
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
#endif
  }
  bool take_from(std::uint32_t was, std::uint32_t now) noexcept {
    return state_.compare_exchange_strong(was, now, std::memory_order_acquire);
  }
  // `was`: what the word held instead of kFree.
  [[nodiscard]] bool try_acquire(std::uint32_t was) noexcept {
    if (was == kHeld || was == kAwaited) return false;
    for (Backoff backoff;; backoff.wait()) {
      was = state_.load(std::memory_order_acquire);
      if (was == kHeld || was == kAwaited) return false;
      if (was == kFree && take_from(kFree, kHeld)) return true;
      if (was != kBiased || !take_from(kBiased, kWithdrawing)) continue;
      const bool is_ours = bias_.withdraw();
      state_.store(is_ours ? kHeld : kBiased, std::memory_order_seq_cst);
      return is_ours;
    }
  }
  void acquire() noexcept {
    std::uint32_t held = kHeld;  // kAwaited: others may sleep as well
    for (Backoff backoff;;) {
      const std::uint32_t was = state_.load(std::memory_order_relaxed);
      if (was == kFree && take_from(kFree, held)) return;
      if (was == kBiased && take_from(kBiased, held)) {
        if (!bias_.withdraw()) bias_.await_leaving();
        return;
      }
      if (kWait == LockWait::kAwake || was == kWithdrawing) {
        backoff.wait();
        continue;
      }
      if (was == kHeld) take_from(kHeld, kAwaited);
      if (was == kHeld || was == kAwaited) {
        state_.wait(kAwaited);
        held = kAwaited;
      }
    }
  }

  Bias bias_;
  std::atomic<std::uint32_t> state_{kFree};
  bool by_bias_ = false;  // the holder's
#ifdef EXS_DEBUG
  std::atomic<std::thread::id> holder_;  // written by the holder, read by assert_held of any thread: a hint
#endif
};

}  // namespace exs
