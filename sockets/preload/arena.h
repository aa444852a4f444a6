// The slots of a family: a process, its forks, and the programs that these become. The family shares this
// memory and trusts it. A process that gives up rights therefore leaves the family first (rights.h).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <mutex>

#include "sockets/preload/arena_layout.h"

namespace exs::sockets {

// Slot 0 is unused. The slot must be taken by this process or inherited from its parent. Thread: any.
Slot& slot_at(std::uint32_t index) noexcept;
// Returns any slot of the family, also of an earlier program of this process. Null: the index is invalid, or
// there is no memory to map it.
Slot* find_slot(std::uint32_t index) noexcept;
std::uint32_t index_of(const Slot& slot) noexcept;
// Returns a free slot, reset to stage kNoted. 0: there is no free slot or no memory.
std::uint32_t take_slot() noexcept;
// No process has a number for it.
void free_slot(std::uint32_t index) noexcept;

// Memory of the family beside a slot, for bytes that were unread when the connection left its ring. Null: no
// memory.
Segment* map_unread(std::uint32_t index, std::size_t bytes) noexcept;
void unmap_unread(Segment* mapped, std::size_t capacity) noexcept;
// No process uses it.
void forget_unread(std::uint32_t index) noexcept;

// The memfd of this memory, for a program that takes over from this one. -1: it is lost.
int arena_descriptor() noexcept;
// This process hands it to no program.
void close_arena() noexcept;
// Takes over the memory before the process has any slot. False: the descriptor is no such memfd.
bool adopt_arena(int descriptor) noexcept;

// Other processes share this memory, or are about to.
void note_relatives() noexcept;
bool has_relatives() noexcept;
// Moves this process to memory of its own, with the slots for which `keeps` returns true; the relatives keep
// the old memory. References to slots stay valid. False: there is no memory, and the arena is gone.
bool part_from_relatives(bool (*keeps)(std::uint32_t index)) noexcept;

// Holds a lock of a slot. After the death of an owner, only what the owner published counts.
class SlotLock {
 public:
  explicit SlotLock(SharedLock& shared) noexcept;
  // Does not wait; held() is false if the lock is taken.
  SlotLock(SharedLock& shared, std::try_to_lock_t) noexcept;
  ~SlotLock() {
    if (held_) pthread_mutex_unlock(&lock_.mutex);
  }
  SlotLock(const SlotLock&) = delete;
  SlotLock& operator=(const SlotLock&) = delete;
  // False: this thread holds the lock already, in the code that a signal handler has interrupted.
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
