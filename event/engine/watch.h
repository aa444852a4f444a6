// Who watches a shard's ports: the state that waiting threads, the shard and its engine thread share without
// the drive lock. README.md has the table of its states.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "src/base/unique_fd.h"

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
  // Ends the leader's sleep, this one or the next.
  void wake_leader() const;

  // False: nobody leads any more.
  [[nodiscard]] bool start_following() {
    ++followers_;
    if (led_) return true;
    --followers_;
    return false;
  }
  void stop_following() { --followers_; }
  [[nodiscard]] bool has_followers() const { return followers_ > 0; }

  // Threads that sleep on the ports; begins under the drive lock.
  void begin_sleep() { ++sleepers_; }
  void end_sleep() { --sleepers_; }
  [[nodiscard]] bool has_sleepers() const { return sleepers_ > 0; }

  // --- Thread: shard ---
  // A waiting thread polls everything, or memory only, and keeps the engine off.
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
  // Moves with either.
  [[nodiscard]] std::uint64_t waiter_polls() const { return waiter_memory_polls_ + waiter_drives_; }

  // --- Thread: leader ---
  [[nodiscard]] int wake_fd() const noexcept { return wake_fd_.get(); }
  void clear_wake() const;

 private:
  const UniqueFd wake_fd_;
  std::atomic<std::uint64_t> waiter_drives_{0};  // written under the drive lock, read by the engine: a hint
  std::atomic<std::uint64_t> waiter_memory_polls_{0};  // likewise
  std::atomic<int> sleepers_{0};                       // on the ports; goes up under the drive lock
  std::atomic<bool> led_{false};                       // seq_cst, pairs with Engine's parked_
  std::atomic<int> followers_{0};  // seq_cst, pairs with led_: one of the two sees the other
};

}  // namespace exs
