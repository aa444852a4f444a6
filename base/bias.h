// The bias of a lock: a thread that takes the lock again and again, and is alone with it, becomes its owner. The owner takes it with
// plain loads and stores; any other thread first withdraws the bias. A locked instruction costs some 5 ns, a withdrawal some 10 us.
//
// Design notes
//  1. The owner says that it is inside, then looks whether it is still the owner. A thread that withdraws the bias says that nobody is
//     the owner, has a barrier executed in every thread (process_barrier.h), then looks whether the owner is inside. So one of the two
//     sees the other. tests/models/biased_lock.pml explores all of it.
//  2. The word that says so is the owner's, not the lock's (thread_record.h): a former owner that has not seen the withdrawal yet may
//     still write it, when another thread owns the lock.
//  3. Only the holder of the lock's word grants or withdraws (biased_lock.h), so two threads never do at once.
//  4. Each withdrawal that came too soon doubles the number of turns in a row that earn the bias. A long time as owner halves it.
//  5. ThreadSanitizer does not know such a barrier, so there is no bias in its builds.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "base/process_barrier.h"
#include "base/thread_record.h"

namespace exs {

class Bias {
 public:
  Bias() = default;
  ~Bias() { free_place(); }
  Bias(const Bias&) = delete;
  Bias& operator=(const Bias&) = delete;

  // --- Thread: any ---
  // True: the calling thread is the owner, and inside until leave(). A signal handler that interrupts its thread inside is not.
  [[nodiscard]] bool enter() noexcept {
    Place* const place = owner_.load(std::memory_order_relaxed);
    const ThreadRecord* const mine = ThreadRecord::mine();
    if (mine == nullptr || !mine->has(place)) return false;
    const std::uint32_t turns = place->load(std::memory_order_relaxed);
    if (is_inside(turns)) return false;
    place->store(turns + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (owner_.load(std::memory_order_relaxed) == place) return true;
    place->store(turns + 2, std::memory_order_release);
    return false;
  }
  void leave() noexcept {
    place_->store(place_->load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // --- Thread: the holder of the lock's word ---
  // From the return on no thread enters. False: the former owner is still inside.
  [[nodiscard]] bool withdraw() noexcept;
  void await_leaving() noexcept;
  // Counts a turn of the calling thread. True: it has earned the bias.
  [[nodiscard]] bool count_turn() noexcept {
    const ThreadRecord* const mine = ThreadRecord::mine();
    in_a_row_ = mine == last_ ? in_a_row_ + 1 : 0;
    last_ = mine;
    return kIsKnownToTools && in_a_row_ >= needed_;
  }
  // Makes the calling thread the owner. False: it owns as many locks as a thread can, or there is no barrier.
  [[nodiscard]] bool grant() noexcept;

 private:
  using Place = std::atomic<std::uint32_t>;
#if defined(__SANITIZE_THREAD__)
  static constexpr bool kIsKnownToTools = false;
#else
  static constexpr bool kIsKnownToTools = true;
#endif
  static constexpr std::uint32_t kFewestTurns = 64;
  static constexpr std::uint32_t kMostTurns = 65'536;
  static constexpr std::uint32_t kWorthwhileTurns = 4096;  // as owner, which have paid for the withdrawal

  [[nodiscard]] static bool is_inside(std::uint32_t turns) noexcept {
    return turns % 2 != 0;
  }
  void free_place() noexcept;

  std::atomic<Place*> owner_{nullptr};  // the owner's place for this lock
  Place* place_ = nullptr;  // likewise; also that of a former owner which was inside when it was asked
  ThreadRecord* placed_ = nullptr;  // whose it is
  const ThreadRecord* last_ = nullptr;
  std::uint32_t granted_at_ = 0;
  std::uint32_t in_a_row_ = 0;
  std::uint32_t needed_ = kFewestTurns;
};

}  // namespace exs
