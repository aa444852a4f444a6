// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/descriptor_table.h"

#include <utility>

#include "base/read_section.h"
#include "src/log/log.h"

namespace exs {

DescriptorTable::~DescriptorTable() {
  for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

DescriptorTable::DescriptorSlot* DescriptorTable::make_slot(int number) {
  if (number >= kNumbersMax) {
    log(LogLevel::kError, "descriptor {} is beyond the {} numbers exs can hold: EMFILE", number, kNumbersMax);
    return nullptr;
  }
  auto& published = chunks_[static_cast<std::size_t>(number) / kChunkSlots];
  if (published.load(std::memory_order_acquire) == nullptr) {
    auto made = std::make_unique<Chunk>();
    Chunk* none = nullptr;
    if (published.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) {
      static_cast<void>(made.release());
    }
  }
  return slot_of(number);
}

void DescriptorTable::fill(DescriptorSlot& slot, const std::shared_ptr<Socket>& socket) {
  slot.socket = socket;
  slot.own.store(socket->adopted() == Adopted::kNo ? socket.get() : nullptr, std::memory_order_release);
}

Result<std::shared_ptr<Socket>> DescriptorTable::replace(const std::shared_ptr<Socket>& socket) {
  DescriptorSlot* const slot = make_slot(socket->number());
  if (slot == nullptr) return failure(EMFILE);
  LockGuard guard(slot->mutex);
  auto before = std::move(slot->socket);
  fill(*slot, socket);
  return before;
}

Result<std::shared_ptr<Socket>> DescriptorTable::insert_if_absent(const std::shared_ptr<Socket>& socket) {
  DescriptorSlot* const slot = make_slot(socket->number());
  if (slot == nullptr) return failure(EMFILE);
  LockGuard guard(slot->mutex);
  if (!slot->socket) fill(*slot, socket);
  return slot->socket;
}

std::shared_ptr<Socket> DescriptorTable::find(int number) {
  DescriptorSlot* const slot = slot_of(number);
  if (slot == nullptr) return nullptr;
  LockGuard guard(slot->mutex);
  return slot->socket;
}

// Adopted sockets, which peek() never returns, are also removed in sections.
bool DescriptorTable::remove(const Socket& socket, const std::function<void()>& first) {
  const bool removed = take_out(socket, first);
  if (removed && socket.adopted() == Adopted::kNo) wait_for_readers();
  return removed;
}

bool DescriptorTable::take_out(const Socket& socket, const std::function<void()>& first) {
  DescriptorSlot& slot = *slot_of(socket.number());
  LockGuard guard(slot.mutex);
  if (slot.socket.get() != &socket) return false;
  first();
  slot.own.store(nullptr, std::memory_order_relaxed);
  slot.socket = nullptr;
  return true;
}

std::vector<std::shared_ptr<Socket>> DescriptorTable::all() {
  std::vector<std::shared_ptr<Socket>> found;
  for (auto& published : chunks_) {
    Chunk* chunk = published.load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    for (DescriptorSlot& slot : *chunk) {
      LockGuard guard(slot.mutex);
      if (slot.socket) found.push_back(slot.socket);
    }
  }
  return found;
}

}  // namespace exs
