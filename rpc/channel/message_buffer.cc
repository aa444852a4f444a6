// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/channel/message_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace exs::rpc {
namespace {

constexpr std::size_t kFirstBytes = 8192;
constexpr std::size_t kKeptBytes = std::size_t{4} << 20U;
constexpr std::size_t kLongestBytes = std::size_t{1} << 30U;

}  // namespace

MessageBuffer::~MessageBuffer() {
  give_back();
}

void MessageBuffer::give_back() {
  if (region_ == EXS_MHANDLE_UNREGISTERED) {
    delete[] memory_;
  } else if (memory_ != nullptr) {
    exs_free(memory_);
  }
}

bool MessageBuffer::grow(std::size_t bytes) {
  if (bytes > kLongestBytes) return false;
  const std::size_t size = std::max(kFirstBytes, std::bit_ceil(bytes + kFrameBytes));
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  auto* memory = static_cast<std::byte*>(exs_alloc(size, &region));
  if (memory == nullptr) {
    // Memory that a peer may read costs a descriptor. A process without free ones uses ordinary memory.
    region = EXS_MHANDLE_UNREGISTERED;
    memory = new (std::nothrow) std::byte[size];
  }
  if (memory == nullptr) return false;
  if (memory_ != nullptr) std::memcpy(memory, memory_, kFrameBytes + capacity_);
  give_back();
  memory_ = memory;
  capacity_ = size - kFrameBytes;
  region_ = region;
  return true;
}

void MessageBuffer::shrink() {
  if (capacity_ <= kKeptBytes) return;
  give_back();
  memory_ = nullptr;
  capacity_ = 0;
  region_ = EXS_MHANDLE_INVALID;
}

void MessageBuffer::swap(MessageBuffer& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(capacity_, other.capacity_);
  std::swap(region_, other.region_);
}

}  // namespace exs::rpc
