// Memory of a peer for replies: slots that the program allocates and requests name. Thread: holder of the node's lock, except for at().
//
// Design notes
//  1. The service may write anywhere in the arena, so the library owns all of it, and nothing else lies there.
//  2. The address range is reserved at once and gets pages when they are first written, so slots never move.
//  3. A request has its slots until it ends, and it ends only when the service no longer writes them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "base/drive_lock.h"
#include "base/status.h"
#include "exs/exs.h"
#include "service/flow/slot_space.h"

namespace exs::svc {

class ReturnArena {
 public:
  // Returns NULL if memory ran out.
  static std::shared_ptr<ReturnArena> make(std::size_t bytes, std::shared_ptr<Mutex> node_lock);
  ReturnArena(std::size_t bytes, std::shared_ptr<Mutex> node_lock);
  // Exs must not be using it any more.
  ~ReturnArena();
  ReturnArena(const ReturnArena&) = delete;
  ReturnArena& operator=(const ReturnArena&) = delete;

  // Returns the arena that contains this address, or NULL. Thread: any.
  static std::shared_ptr<ReturnArena> at(const void* address);
  [[nodiscard]] Mutex& node_lock() const noexcept { return *node_lock_; }

  // Returns NULL if there is no room.
  void* take(std::size_t length_bytes);
  // EINVAL it is no slot; EBUSY a request has it.
  Status give_back(const void* slot);
  [[nodiscard]] bool is_empty() const noexcept { return space_.is_empty(); }

  [[nodiscard]] bool contains(const void* address) const noexcept;
  // Lends this part of a slot to a request. EINVAL it is no part of a slot; EBUSY a request has the slot.
  Status lend(const exs_iovec_t& piece);
  void let_go(const exs_iovec_t& piece);
  [[nodiscard]] std::uint32_t offset_of(const void* address) const noexcept;

  [[nodiscard]] std::uint8_t* start() const noexcept { return start_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] exs_mhandle_t region() const noexcept { return region_; }

 private:
  const std::size_t bytes_;
  const std::shared_ptr<Mutex> node_lock_;
  SlotSpace space_;
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
  std::uint8_t* const start_;
  std::set<std::size_t> lent_;  // starts of slots that requests have
};

}  // namespace exs::svc
