// The bytes of a ring. A position counts all bytes ever put in; `start` is the position of the ring's first
// place.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace exs::lane {

// A source or sink has met memory that is not there, so the copy does not count.
template <typename Memory>
bool has_failed(const Memory& memory) {
  if constexpr (requires { memory.failed(); }) {
    return memory.failed();
  } else {
    return false;
  }
}

// Thread: holder of the direction's lock.
class Ring {
 public:
  // `capacity` is a power of two.
  Ring(std::byte* bytes, std::size_t capacity) : bytes_(bytes), capacity_(capacity) {
    EXS_DEBUG_CHECK(capacity != 0 && (capacity & (capacity - 1)) == 0);
  }

  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  // Calls `source.copy_to(place, n)` for each piece: two if the bytes wrap around.
  // `count` is at most the capacity: callers have checked what the peer says.
  template <typename Source>
  void put(std::uint64_t position, std::uint64_t start, std::size_t count, Source& source) {
    const std::size_t first = piece(position, start, count);
    source.copy_to(place(position, start), first);
    if (count > first) source.copy_to(bytes_, count - first);
  }
  template <typename Sink>
  void get(std::uint64_t position, std::uint64_t start, std::size_t count, Sink& sink) const {
    const std::size_t first = piece(position, start, count);
    sink.copy_from(place(position, start), first);
    if (count > first) sink.copy_from(bytes_, count - first);
  }

 private:
  // Masked, so that hostile numbers stay inside the ring.
  [[nodiscard]] std::size_t offset(std::uint64_t position, std::uint64_t start) const {
    return (position - start) & (capacity_ - 1);
  }
  [[nodiscard]] std::byte* place(std::uint64_t position, std::uint64_t start) const {
    return bytes_ + offset(position, start);
  }
  [[nodiscard]] std::size_t piece(std::uint64_t position, std::uint64_t start, std::size_t count) const {
    EXS_CHECK(count <= capacity_);
    return std::min(count, capacity_ - offset(position, start));
  }

  std::byte* bytes_;
  std::size_t capacity_;
};

}  // namespace exs::lane
