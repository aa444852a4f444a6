// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/receive_pool.h"

#include <cerrno>

namespace exs {

ReceivePool::ReceivePool(std::shared_ptr<Region> region, exs_mhandle_t region_handle, std::byte* buffers,
                         std::size_t buffer_bytes, std::uint32_t count)
    : region_(std::move(region)),
      region_handle_(region_handle),
      buffers_(buffers),
      buffer_bytes_(buffer_bytes),
      count_(count),
      owners_(count) {
  free_.reserve(count);
  for (std::uint32_t buffer = count; buffer > 0; --buffer) free_.push_back(buffer - 1);
}

ReceivePool::~ReceivePool() {
  if (!retired_) region_->release();
}

bool ReceivePool::use() {
  LockGuard guard(mutex_);
  if (!retired_) ++receives_;
  return !retired_;
}

void ReceivePool::release() {
  LockGuard guard(mutex_);
  --receives_;
}

bool ReceivePool::retire() {
  LockGuard guard(mutex_);
  if (receives_ > 0 || retired_) return false;
  retired_ = true;
  region_->release();
  return true;
}

std::byte* ReceivePool::take_or_wait(const std::shared_ptr<WaitLine::Waiter>& waiter) {
  LockGuard guard(mutex_);
  if (free_.empty()) {
    line_.join(waiter);
    return nullptr;
  }
  std::byte* const buffer = buffers_ + free_.back() * buffer_bytes_;
  free_.pop_back();
  owner(buffer) = Owner::kReceive;
  return buffer;
}

Status ReceivePool::give_back(const void* buffer) {
  const auto distance = reinterpret_cast<std::uintptr_t>(buffer) - reinterpret_cast<std::uintptr_t>(buffers_);
  if (distance % buffer_bytes_ != 0 || distance / buffer_bytes_ >= count_) return Status(EINVAL);
  std::byte* const given = buffers_ + distance;
  Owner program = Owner::kProgram;
  if (!owner(given).compare_exchange_strong(program, Owner::kReceive)) return Status(EINVAL);
  put_back(given);
  return Status();
}

void ReceivePool::put_back(std::byte* buffer) {
  {
    LockGuard guard(mutex_);
    owner(buffer) = Owner::kPool;
    free_.push_back(index_of(buffer));
  }
  pass_on();
}

void ReceivePool::pass_on() {
  std::shared_ptr<WaitLine::Waiter> next;
  {
    LockGuard guard(mutex_);
    if (!free_.empty()) next = line_.leave_first();
  }
  if (next) next->try_again();
}

}  // namespace exs
