// The slots of a family, which is a process and those that come from it by fork: memory that all of them share.
#pragma once

#include <cstdint>

#include "sockets/preload/slot.h"

namespace exs::sockets {

inline constexpr std::uint32_t kSlots = 32768;

// Slot 0 is none. Thread: any.
Slot& slot_at(std::uint32_t index) noexcept;
// A free slot, as if new, in stage kNoted; 0: there is none, or no memory.
std::uint32_t take_slot() noexcept;
// Nobody has a number for it any more.
void free_slot(std::uint32_t index) noexcept;

// Holds a lock of a slot. One whose owner died is taken over: what its owner published counts, and nothing else.
class SlotLock {
 public:
  explicit SlotLock(pthread_mutex_t& mutex) noexcept;
  ~SlotLock() {
    if (held_) pthread_mutex_unlock(&mutex_);
  }
  SlotLock(const SlotLock&) = delete;
  SlotLock& operator=(const SlotLock&) = delete;
  // False: this very thread holds it, which a handler of a signal has interrupted.
  [[nodiscard]] bool held() const noexcept { return held_; }
  void unlock() noexcept {
    if (held_) pthread_mutex_unlock(&mutex_);
    held_ = false;
  }
  void lock() noexcept;

 private:
  pthread_mutex_t& mutex_;
  bool held_ = false;
};

}  // namespace exs::sockets
