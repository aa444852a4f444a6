// Integer handles for objects that threads share. A handle is an index and a generation, so a stale handle
// finds nothing instead of another object. Tables of different kinds give out different handles, so a handle of
// one finds nothing in the other.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/drive_lock.h"
#include "base/read_section.h"

namespace exs {

// Thread: any. find() takes the lock of one slot and no lock of the table; peek() takes no lock.
template <typename T>
class HandleTable {
 public:
  static constexpr int kIndexBits = 16;
  static constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;
  static constexpr std::uint32_t kMost = kIndexMask + 1;
  static constexpr std::uint32_t kGenerations = 1U << 13;  // keeps every handle of 3 kinds positive

  // `kind`: 0, 1 or 2; the first bits of every generation.
  explicit HandleTable(std::uint32_t kind = 0) : first_generation_(kind * kGenerations + 1) {}

  // A handle > 0, or 0 when the table is full.
  int insert(std::shared_ptr<T> object) {
    LockGuard guard(mutex_);
    std::uint32_t index = 0;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (used_ > kIndexMask) return 0;
      if (free_.capacity() <= used_)
        free_.reserve(2 * std::size_t{used_} + 16);  // so that remove() needs none
      index = used_;
      auto& chunk = chunks_[index / kChunkSlots];
      if (chunk.load(std::memory_order_relaxed) == nullptr) {
        // Release: other threads read the slots of a chunk only after they have loaded this pointer.
        chunk.store(make_chunk(), std::memory_order_release);
      }
      ++used_;
    }
    HandleSlot& slot = *slot_at(index);
    LockGuard slot_guard(slot.mutex);
    slot.object = std::move(object);
    slot.known.store(slot.object.get(), std::memory_order_release);
    return static_cast<int>((slot.generation << kIndexBits) | index);
  }

  [[nodiscard]] std::shared_ptr<T> find(int handle) {
    HandleSlot* slot = slot_of(handle);
    if (slot == nullptr) return nullptr;
    LockGuard guard(slot->mutex);
    return slot->generation == generation_of(handle) ? slot->object : nullptr;
  }

  // Call it inside a ReadSection; the object lives at least until the section ends.
  [[nodiscard]] T* peek(int handle) {
    HandleSlot* slot = slot_of(handle);
    if (slot == nullptr) return nullptr;
    // A slot is reused only after every section that may have found its last object has ended. So if the
    // generation matches after the object was loaded, it is the generation of that object.
    T* const object = slot->known.load(std::memory_order_acquire);
    return slot->generation.load(std::memory_order_relaxed) == generation_of(handle) ? object : nullptr;
  }

  // Returns the object to the one caller that removed it, and nullptr to all others. Call it outside any
  // ReadSection.
  std::shared_ptr<T> remove(int handle) {
    HandleSlot* slot = slot_of(handle);
    if (slot == nullptr) return nullptr;
    std::shared_ptr<T> object;
    {
      LockGuard guard(slot->mutex);
      if (slot->generation != generation_of(handle) || slot->object == nullptr) return nullptr;
      object = std::move(slot->object);
      slot->object = nullptr;
      slot->known.store(nullptr, std::memory_order_relaxed);
      const std::uint32_t next = slot->generation + 1;
      slot->generation = next % kGenerations == 0 ? first_generation_ : next;
    }
    wait_for_readers();
    LockGuard guard(mutex_);
    free_.push_back(static_cast<std::uint32_t>(handle) & kIndexMask);
    return object;
  }

  [[nodiscard]] std::vector<int> handles() {
    LockGuard guard(mutex_);
    std::vector<int> found;
    for (std::uint32_t index = 0; index < used_; ++index) {
      HandleSlot& slot = *slot_at(index);
      LockGuard slot_guard(slot.mutex);
      if (slot.object) found.push_back(static_cast<int>((slot.generation << kIndexBits) | index));
    }
    return found;
  }

 private:
  static constexpr std::uint32_t kChunkSlots = 256;
  struct HandleSlot {
    LeafLock mutex;
    std::atomic<std::uint32_t> generation{1};  // both: written under the lock
    std::atomic<T*> known{nullptr};            // object
    std::shared_ptr<T> object EXS_GUARDED_BY(mutex);
  };
  using Chunk = std::array<HandleSlot, kChunkSlots>;

  Chunk* make_chunk() EXS_REQUIRES(mutex_) {
    Chunk& made = *owned_.emplace_back(std::make_unique<Chunk>());
    for (HandleSlot& slot : made) slot.generation = first_generation_;
    return &made;
  }
  static std::uint32_t generation_of(int handle) { return static_cast<std::uint32_t>(handle) >> kIndexBits; }
  HandleSlot* slot_at(std::uint32_t index) {
    Chunk* chunk = chunks_[index / kChunkSlots].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[index % kChunkSlots];
  }
  HandleSlot* slot_of(int handle) {
    return handle <= 0 ? nullptr : slot_at(static_cast<std::uint32_t>(handle) & kIndexMask);
  }

  const std::uint32_t first_generation_;
  std::array<std::atomic<Chunk*>, (kIndexMask + 1) / kChunkSlots> chunks_{};
  Mutex mutex_;
  std::uint32_t used_ EXS_GUARDED_BY(mutex_) = 0;
  std::vector<std::uint32_t> free_ EXS_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Chunk>> owned_ EXS_GUARDED_BY(mutex_);
};

}  // namespace exs
