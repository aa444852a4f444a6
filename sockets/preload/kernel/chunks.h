// A table that uses memory only for its used entries and their neighbours, because a process may have to lock
// all its memory. Entries are zero at first, keep their addresses, and are never freed. Thread: any; entries
// guard themselves.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {

template <typename Entry, std::uint32_t kCount, std::uint32_t kPerChunk>
class Chunks {
 public:
  // Null: the entry's chunk does not exist.
  [[nodiscard]] Entry* find(std::uint32_t index) noexcept {
    Entry* const chunk = chunks_[index / kPerChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk + index % kPerChunk;
  }
  // Null: no memory.
  [[nodiscard]] Entry* make(std::uint32_t index) noexcept {
    if (Entry* const made = find(index)) return made;
    constexpr std::size_t kBytes = kPerChunk * sizeof(Entry);
    void* const place = raw::memory_of(
        raw::sys(SYS_mmap, 0, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (place == nullptr) return nullptr;
    Entry* none = nullptr;
    if (!chunks_[index / kPerChunk].compare_exchange_strong(none, static_cast<Entry*>(place),
                                                            std::memory_order_acq_rel))
      raw::sys(SYS_munmap, place, kBytes);
    return find(index);
  }
  // The entry must exist.
  [[nodiscard]] Entry& operator[](std::uint32_t index) noexcept { return *find(index); }

 private:
  static_assert(kCount % kPerChunk == 0);
  std::atomic<Entry*> chunks_[kCount / kPerChunk] = {};
};

}  // namespace exs::sockets
