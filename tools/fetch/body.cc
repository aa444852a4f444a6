// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fetch/body.h"

#include <algorithm>
#include <cerrno>

#include "tools/common/failure.h"

namespace fetch {

std::span<char> Body::room(std::size_t more) {
  if (more > capacity_ - length_) {
    if (more > SIZE_MAX / 2 - length_) tools::fail("memory for an answer", EFBIG);
    const std::size_t capacity = std::max(length_ + more, 2 * capacity_);
    exs_mhandle_t region = EXS_MHANDLE_INVALID;
    auto* const memory = static_cast<char*>(exs_alloc(capacity, &region));
    if (memory == nullptr) tools::fail("memory for an answer", errno);
    if (length_ > 0) std::memcpy(memory, memory_, length_);
    exs_free(memory_);
    memory_ = memory;
    capacity_ = capacity;
    region_ = region;
  }
  return {memory_ + length_, more};
}

}  // namespace fetch
