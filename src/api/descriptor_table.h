// Sockets by number. The number is that of a kernel descriptor which the socket holds, so it means nothing
// else while the socket, or an event that names it, exists. Not so the number of an adopted socket, which is
// the application's: src/api/adopt.h has the functions for both kinds.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/drive_lock.h"
#include "src/api/socket.h"
#include "src/provider/own_sockets.h"

namespace exs {

// Thread: any. find() takes one uncontended lock of its own slot and no lock of the table, peek() none.
class DescriptorTable {
 public:
  static constexpr int kNumbersMax = OwnSockets::kNumbersMax;

  DescriptorTable() = default;
  ~DescriptorTable();
  DescriptorTable(const DescriptorTable&) = delete;
  DescriptorTable& operator=(const DescriptorTable&) = delete;

  // Returns the socket that had the number before, or null. EMFILE: the number is beyond the table.
  Result<std::shared_ptr<Socket>> replace(const std::shared_ptr<Socket>& socket);
  // Returns the socket that has the number now, which may be that of another thread. EMFILE.
  Result<std::shared_ptr<Socket>> insert_if_absent(const std::shared_ptr<Socket>& socket);
  [[nodiscard]] std::shared_ptr<Socket> find(int number);
  // Call it in a ReadSection; the socket lives until its end. Null: use find(), as for all adopted sockets.
  [[nodiscard]] Socket* peek(int number) const noexcept {
    const DescriptorSlot* const slot = slot_of(number);
    return slot == nullptr ? nullptr : slot->own.load(std::memory_order_acquire);
  }
  // False: another thread removed the socket. `first` runs before the number is free. Not to be called in a
  // ReadSection, unless the socket is adopted.
  bool remove(const Socket& socket, const std::function<void()>& first);
  [[nodiscard]] std::vector<std::shared_ptr<Socket>> all();

 private:
  static constexpr int kChunkSlots = 1024;
  struct DescriptorSlot {
    LeafLock mutex;
    std::atomic<Socket*> own{nullptr};  // socket, unless it is adopted; written under the lock
    std::shared_ptr<Socket> socket EXS_GUARDED_BY(mutex);
  };
  using Chunk = std::array<DescriptorSlot, kChunkSlots>;
  DescriptorSlot* slot_of(int number) const noexcept {
    if (number < 0 || number >= kNumbersMax) return nullptr;
    const auto index = static_cast<std::size_t>(number);
    Chunk* chunk = chunks_[index / kChunkSlots].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[index % kChunkSlots];
  }
  DescriptorSlot* make_slot(int number);
  static void fill(DescriptorSlot& slot, const std::shared_ptr<Socket>& socket) EXS_REQUIRES(slot.mutex);
  bool take_out(const Socket& socket, const std::function<void()>& first);

  std::array<std::atomic<Chunk*>, kNumbersMax / kChunkSlots> chunks_{};  // published once, by make_slot()
};

}  // namespace exs
