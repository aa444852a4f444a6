#include "src/api/descriptor_table.h"

#include <utility>

#include "src/api/adopt.h"
#include "src/base/log.h"
#include "src/base/read_section.h"

namespace exs {

DescriptorTable::~DescriptorTable() {
  for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

DescriptorTable::Slot* DescriptorTable::slot(int number) const {
  if (number < 0 || number >= kNumbersMax) return nullptr;
  const auto index = static_cast<std::size_t>(number);
  Chunk* chunk = chunks_[index / kChunkSlots].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &(*chunk)[index % kChunkSlots];
}

DescriptorTable::Slot* DescriptorTable::make_slot(int number) {
  if (number >= kNumbersMax) {
    log(LogLevel::kError, "descriptor %d is beyond the %d numbers exs can hold: EMFILE", number, kNumbersMax);
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
  return slot(number);
}

Status DescriptorTable::insert(const std::shared_ptr<Socket>& socket) {
  Slot* place = make_slot(socket->number());
  if (place == nullptr) return Status(EMFILE);
  std::shared_ptr<Socket> before;
  if (socket->adopted() == Adopted::kNo) OwnSockets::add(socket->number());
  {
    LockGuard guard(place->mutex);
    before = std::exchange(place->socket, socket);
    place->own.store(socket->adopted() == Adopted::kNo ? socket.get() : nullptr, std::memory_order_release);
  }
  if (before) abandon(library_, before);  // adopted, then closed by a plain call
  return Status();
}

Socket* DescriptorTable::peek(int number) const {
  const Slot* place = slot(number);
  return place == nullptr ? nullptr : place->own.load(std::memory_order_acquire);
}

std::shared_ptr<Socket> DescriptorTable::look_up(int number) {
  Slot* place = slot(number);
  if (place == nullptr) return nullptr;
  LockGuard guard(place->mutex);
  return place->socket;
}

std::shared_ptr<Socket> DescriptorTable::find(int number) {
  auto socket = look_up(number);
  if (socket && socket->adopted() == Adopted::kNo) return socket;
  return find_adopted(number, std::move(socket));
}

std::shared_ptr<Socket> DescriptorTable::find_adopted(int number, std::shared_ptr<Socket> known) {
  if (known && known->descriptor()->is_there()) return known;
  if (known && take(*known, false)) abandon(library_, known);
  if (number < 0) return nullptr;
  auto socket = adopt(number);
  if (!socket || socket->adopted() == Adopted::kUnconnected) return socket;
  Slot* place = make_slot(number);
  if (place == nullptr) return nullptr;
  LockGuard guard(place->mutex);
  if (!place->socket) place->socket = std::move(socket);  // else another thread was faster
  return place->socket;
}

// Only who removes a socket of ours waits: nobody peeks at adopted ones, which are removed in sections too.
bool DescriptorTable::take(const Socket& socket, bool to_close) {
  const bool taken = take_out(socket, to_close);
  if (taken && socket.adopted() == Adopted::kNo) wait_for_readers();
  return taken;
}

bool DescriptorTable::take_out(const Socket& socket, bool to_close) {
  Slot& place = *slot(socket.number());
  LockGuard guard(place.mutex);
  if (place.socket.get() != &socket) return false;
  if (to_close) {
    if (socket.adopted() != Adopted::kNo) {
      OwnSockets::add(socket.number(), socket.descriptor()->cookie());
      socket.descriptor()->take_over();
    }
  }
  place.own.store(nullptr, std::memory_order_relaxed);
  place.socket = nullptr;
  return true;
}

std::shared_ptr<Socket> DescriptorTable::remove(int number) {
  auto socket = find(number);
  if (!socket) return nullptr;
  if (socket->adopted() == Adopted::kUnconnected) {
    log(LogLevel::kWarn, "kernel socket %d: neither connected nor listening, so not exs's to close: EBADF",
        number);
    return nullptr;
  }
  return take(*socket, true) ? socket : nullptr;
}

bool DescriptorTable::release(const std::shared_ptr<Socket>& socket) {
  const bool adopted = socket->adopted() != Adopted::kNo;
  return take(*socket, socket->ours() && (!adopted || socket->descriptor()->is_there()));
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
