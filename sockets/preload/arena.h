// The slots of a family, which is a process, those that come from it by fork, and the programs they become: memory that all of
// them share, and believe. So whoever gives up rights leaves the family first (rights.h).
#pragma once

#include <cstdint>
#include <mutex>

#include "sockets/preload/arena_layout.h"

namespace exs::sockets {

// Slot 0 is none. One that this process has taken, or has inherited from its parent. Thread: any.
Slot& slot_at(std::uint32_t index) noexcept;
// Any of the family's, also of a program that this one comes from; null: there is none, or no memory to map it.
Slot* find_slot(std::uint32_t index) noexcept;
std::uint32_t index_of(const Slot& slot) noexcept;
// A free slot, as if new, in stage kNoted; 0: there is none, or no memory.
std::uint32_t take_slot() noexcept;
// Nobody has a number for it any more.
void free_slot(std::uint32_t index) noexcept;

// Memory of the family beside a slot, for what was unread when its connection left the ring; null: there is none.
Segment* map_unread(std::uint32_t index, std::size_t bytes) noexcept;
void unmap_unread(Segment* mapped, std::size_t capacity) noexcept;
// Nobody uses it any more.
void forget_unread(std::uint32_t index) noexcept;

// The memfd that all of this lies in, for a program that takes over from this one; -1: it is lost.
int arena_descriptor() noexcept;
// It is handed over to nobody any more.
void close_arena() noexcept;
// Takes over, before the process has any slot. False: it is no such memfd.
bool adopt_arena(int descriptor) noexcept;

// Others have this memory, or are about to.
void note_relatives() noexcept;
bool has_relatives() noexcept;
// The relatives keep the memory, and this process has some of its own in its place, with those slots that `keeps` names. References to slots stay what they are. False: there is no memory; then there is no arena any more.
bool part_from_relatives(bool (*keeps)(std::uint32_t index)) noexcept;

// Holds a lock of a slot. One whose owner died is taken over: what its owner published counts, and nothing else.
class SlotLock {
 public:
  explicit SlotLock(SharedLock& shared) noexcept;
  // Does not wait: who finds it taken does not hold it.
  SlotLock(SharedLock& shared, std::try_to_lock_t) noexcept;
  ~SlotLock() {
    if (held_) pthread_mutex_unlock(&lock_.mutex);
  }
  SlotLock(const SlotLock&) = delete;
  SlotLock& operator=(const SlotLock&) = delete;
  // False: this very thread holds it, which a handler of a signal has interrupted.
  [[nodiscard]] bool held() const noexcept { return held_; }
  void unlock() noexcept {
    if (held_) pthread_mutex_unlock(&lock_.mutex);
    held_ = false;
  }
  void lock() noexcept;

 private:
  void take(int error) noexcept;

  SharedLock& lock_;
  bool held_ = false;
};

}  // namespace exs::sockets
