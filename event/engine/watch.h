// Decides which thread watches a shard's ports. Waiting threads, the shard and its engine thread share this
// state without the drive lock. README.md has the table of its states.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/unique_fd.h"

namespace exs {

class Watch {
 public:
  // `wake_fd`: an eventfd.
  explicit Watch(UniqueFd wake_fd) : wake_fd_(std::move(wake_fd)) {}

  // --- Thread: any ---
  // False: another thread leads.
  [[nodiscard]] bool try_lead() { return !led_.exchange(true); }
  void stop_leading() { led_ = false; }
  [[nodiscard]] bool is_led() const { return led_; }
  // Ends the leader's present or next sleep. Costs a system call once a sleep.
  void wake_leader();

  // False: no thread leads any more.
  [[nodiscard]] bool start_following() {
    ++followers_;
    if (led_) return true;
    --followers_;
    return false;
  }
  void stop_following() { --followers_; }
  [[nodiscard]] bool has_followers() const { return followers_ > 0; }

  // Counts the threads that sleep on the ports. begin_sleep() needs the drive lock.
  void begin_sleep() { ++sleepers_; }
  void end_sleep() { --sleepers_; }
  [[nodiscard]] bool has_sleepers() const { return sleepers_ > 0; }

  // --- Thread: shard ---
  // A waiting thread polls everything, or only memory, so the engine may stand by.
  void note_drive() {
    waiter_drives_.store(waiter_drives_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void note_memory_poll() {
    waiter_memory_polls_.store(waiter_memory_polls_.load(std::memory_order_relaxed) + 1,
                               std::memory_order_relaxed);
  }

  // --- Thread: engine ---
  [[nodiscard]] std::uint64_t waiter_drives() const { return waiter_drives_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t waiter_memory_polls() const {
    return waiter_memory_polls_.load(std::memory_order_relaxed);
  }
  // A count that grows with either.
  [[nodiscard]] std::uint64_t waiter_polls() const { return waiter_memory_polls_ + waiter_drives_; }

  // --- Thread: leader ---
  [[nodiscard]] int wake_fd() const noexcept { return wake_fd_.get(); }
  // Call it before looking for the cause of the wake-up.
  void clear_wake();

 private:
  const UniqueFd wake_fd_;
  // A hint, written under the drive lock and read by the engine.
  std::atomic<std::uint64_t> waiter_drives_{0};
  std::atomic<std::uint64_t> waiter_memory_polls_{0};  // likewise
  std::atomic<int> sleepers_{0};                       // on the ports; raised under the drive lock
  std::atomic<bool> led_{false};                       // seq_cst, paired with Engine::parked_
  std::atomic<bool> wake_pending_{false};              // wake_fd_ is written, or about to be, and not cleared
  std::atomic<int> followers_{0};                      // seq_cst, paired with led_: one side sees the other
};

}  // namespace exs
