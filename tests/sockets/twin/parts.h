// A buffer cut into parts of unequal length, for calls that take a vector.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <vector>

namespace twin {

struct Parts {
  // If `buffer` is null, so is each part.
  Parts(void* buffer, std::size_t length, std::size_t count) {
    auto* next = static_cast<unsigned char*>(buffer);
    std::size_t left = length;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_last = i + 1 == count;
      const std::size_t part = is_last ? left : left / 3;
      iov.push_back({next, part});
      if (next != nullptr) next += part;
      left -= part;
    }
  }

  std::vector<iovec> iov;
};

}  // namespace twin
