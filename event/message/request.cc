// SPDX-License-Identifier: BSD-2-Clause
#include "event/message/request.h"

#include <new>

namespace exs {

RequestPool::~RequestPool() {
  for (std::uint32_t chunk = 0; chunk * kChunk < count_; ++chunk) delete[] chunks_[chunk].load();
}

void RequestPool::grow() {
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  if (count / kChunk == kChunksMax) throw std::bad_alloc();
  free_.reserve(count + kChunk);
  auto* const made = new Request[kChunk];
  for (std::uint32_t i = 0; i < kChunk; ++i) {
    made[i].number = count + i;
    made[i].operation.tag.handle = &made[i];
    free_.push_back(&made[i]);
  }
  chunks_[count / kChunk].store(made, std::memory_order_release);
  count_.store(count + kChunk, std::memory_order_release);
}

Request& RequestPool::take_request() {
  if (free_.empty()) {
    for (std::uint32_t next = returned_.exchange(0, std::memory_order_acquire); next != 0;) {
      Request& request = at(next - 1);
      next = request.next_returned;
      free_.push_back(&request);
    }
  }
  if (free_.empty()) grow();
  Request& request = *free_.back();
  free_.pop_back();
  request.nobody_waits = false;
  request.waiting = match::kNone;
  request.nap = nullptr;
  request.state.store(Request::State::kOpen, std::memory_order_relaxed);
  return request;
}

void RequestPool::free(Request& request) noexcept {
  request.set_free();
  free_.push_back(&request);
}

void RequestPool::give_back(const RequestChain& chain) noexcept {
  if (chain.first_ == nullptr) return;
  std::uint32_t first = returned_.load(std::memory_order_relaxed);
  do chain.last_->next_returned = first;
  while (!returned_.compare_exchange_weak(first, chain.first_->number + 1, std::memory_order_release,
                                          std::memory_order_relaxed));
}

Request* RequestPool::find(exm_request_t handle) noexcept {
  const auto place = static_cast<std::uint32_t>(handle);
  if (place == 0 || place > count_.load(std::memory_order_acquire)) return nullptr;
  Request& request = at(place - 1);
  const bool is_it =
      request.handle() == handle && request.state.load(std::memory_order_acquire) != Request::State::kFree;
  return is_it ? &request : nullptr;
}

}  // namespace exs
