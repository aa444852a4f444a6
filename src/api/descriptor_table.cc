#include "src/api/descriptor_table.h"

#include "src/base/log.h"

namespace exs {

DescriptorTable::~DescriptorTable() {
  for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

DescriptorTable::Slot* DescriptorTable::slot(int number) {
  if (number < 0 || number >= kNumbersMax) return nullptr;
  const auto index = static_cast<std::size_t>(number);
  Chunk* chunk = chunks_[index / kChunkSlots].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &(*chunk)[index % kChunkSlots];
}

Status DescriptorTable::insert(const std::shared_ptr<Socket>& socket) {
  const int number = socket->number();
  if (number >= kNumbersMax) {
    log(LogLevel::kError, "descriptor %d is beyond the %d numbers exs can hold: EMFILE", number, kNumbersMax);
    return Status(EMFILE);
  }
  auto& published = chunks_[static_cast<std::size_t>(number) / kChunkSlots];
  if (published.load(std::memory_order_acquire) == nullptr) {
    auto made = std::make_unique<Chunk>();
    Chunk* none = nullptr;
    if (published.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) {
      static_cast<void>(made.release());
    }
  }
  Slot& place = *slot(number);
  LockGuard guard(place.mutex);
  place.socket = socket;
  return Status();
}

std::shared_ptr<Socket> DescriptorTable::find(int number) {
  Slot* place = slot(number);
  if (place == nullptr) return nullptr;
  LockGuard guard(place->mutex);
  return place->socket;
}

std::shared_ptr<Socket> DescriptorTable::remove(int number) {
  Slot* place = slot(number);
  if (place == nullptr) return nullptr;
  LockGuard guard(place->mutex);
  return std::exchange(place->socket, nullptr);
}

std::vector<std::shared_ptr<Socket>> DescriptorTable::all() {
  std::vector<std::shared_ptr<Socket>> found;
  for (auto& published : chunks_) {
    Chunk* chunk = published.load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    for (Slot& place : *chunk) {
      LockGuard guard(place.mutex);
      if (place.socket) found.push_back(place.socket);
    }
  }
  return found;
}

}  // namespace exs
