// Memory of a peer that its service writes replies into: slots, which the program has and requests name. Thread: holder of the node's
// lock, but at().
//
// Design notes
//  1. All of it is the library's, for the service may write any of it, whatever it was told: nothing that is not meant for it lies there.
//  2. The pages are reserved at once and get memory when they are first written, so a slot stays where it is for as long as it is one.
//  3. A request has its slots until it has ended, and it ends when the service does not write them any more.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "exs/exs.h"
#include "service/flow/slot_space.h"

namespace exs::svc {

class ReturnArena {
 public:
  // NULL: there is no memory.
  static std::shared_ptr<ReturnArena> make(std::size_t bytes, std::shared_ptr<std::mutex> node_lock);
  ReturnArena(std::size_t bytes, std::shared_ptr<std::mutex> node_lock);
  // Exs uses it no more.
  ~ReturnArena();
  ReturnArena(const ReturnArena&) = delete;
  ReturnArena& operator=(const ReturnArena&) = delete;

  // That this address lies in. NULL: none. Thread: any.
  static std::shared_ptr<ReturnArena> at(const void* address);
  [[nodiscard]] std::mutex& node_lock() const noexcept { return *node_lock_; }

  // NULL: there is no room.
  void* take(std::size_t length_bytes);
  // 0, or errno: EINVAL it is no slot; EBUSY a request has it.
  int give_back(const void* slot);
  [[nodiscard]] bool is_empty() const noexcept { return space_.is_empty(); }

  [[nodiscard]] bool contains(const void* address) const noexcept;
  // For a request: this part of a slot. 0, or errno: EINVAL it is no part of one; EBUSY a request has the slot.
  int lend(const exs_iovec_t& piece);
  void let_go(const exs_iovec_t& piece);
  [[nodiscard]] std::uint32_t offset_of(const void* address) const noexcept;

  [[nodiscard]] std::uint8_t* start() const noexcept { return start_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] exs_mhandle_t region() const noexcept { return region_; }

 private:
  const std::size_t bytes_;
  const std::shared_ptr<std::mutex> node_lock_;
  SlotSpace space_;
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
  std::uint8_t* const start_;
  std::set<std::size_t> lent_;  // starts of slots that requests have
};

}  // namespace exs::svc
