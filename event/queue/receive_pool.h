// Buffers of one size in one region, given out to the receives of many sockets as messages arrive.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/drive_lock.h"
#include "base/status.h"
#include "event/queue/region.h"
#include "event/queue/wait_line.h"
#include "exs/exs.h"

namespace exs {

// Thread: any.
class ReceivePool {
 public:
  // A use of `region`, which contains the buffers, is handed over: until the pool is retired or destroyed.
  ReceivePool(std::shared_ptr<Region> region, exs_mhandle_t region_handle, std::byte* buffers,
              std::size_t buffer_bytes, std::uint32_t count);
  ~ReceivePool();
  ReceivePool(const ReceivePool&) = delete;
  ReceivePool& operator=(const ReceivePool&) = delete;

  // Counts one more receive that takes buffers. False: the pool is being deleted.
  [[nodiscard]] bool use() EXS_EXCLUDES(mutex_);
  void release() EXS_EXCLUDES(mutex_);
  // False: receives use it, or it is retired already. After success none can begin to.
  [[nodiscard]] bool retire() EXS_EXCLUDES(mutex_);

  // Null: none is free, and `waiter` is in the line.
  [[nodiscard]] std::byte* take_or_wait(const std::shared_ptr<WaitLine::Waiter>& waiter) EXS_EXCLUDES(mutex_);
  // The program has the buffer from now on.
  void hand_out(const std::byte* buffer) noexcept { owner(buffer).store(Owner::kProgram); }
  // Takes back what the program has. EINVAL: no buffer of the pool begins there, or the program does not have it.
  Status give_back(const void* buffer) EXS_EXCLUDES(mutex_);
  // Takes back what nothing was received into.
  void put_back(std::byte* buffer) EXS_EXCLUDES(mutex_);
  // Wakes the next waiter, if a buffer is free.
  void pass_on() EXS_EXCLUDES(mutex_);

  [[nodiscard]] LocalSlice slice(std::byte* buffer) const noexcept {
    return {buffer, buffer_bytes_, region_->key()};
  }
  [[nodiscard]] std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] exs_mhandle_t region_handle() const noexcept { return region_handle_; }

 private:
  enum class Owner : std::uint8_t { kPool, kReceive, kProgram };

  [[nodiscard]] std::uint32_t index_of(const std::byte* buffer) const noexcept {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(buffer - buffers_) / buffer_bytes_);
  }
  [[nodiscard]] std::atomic<Owner>& owner(const std::byte* buffer) noexcept {
    return owners_[index_of(buffer)];
  }

  const std::shared_ptr<Region> region_;
  const exs_mhandle_t region_handle_;
  std::byte* const buffers_;
  const std::size_t buffer_bytes_;
  const std::uint32_t count_;

  std::vector<std::atomic<Owner>> owners_;  // of each buffer

  LeafLock mutex_;
  // Last in, first out: the buffer used last is the one still in the processor's cache.
  std::vector<std::uint32_t> free_ EXS_GUARDED_BY(mutex_);
  WaitLine line_ EXS_GUARDED_BY(mutex_);
  std::uint32_t receives_ EXS_GUARDED_BY(mutex_) = 0;
  bool retired_ EXS_GUARDED_BY(mutex_) = false;
};

}  // namespace exs
