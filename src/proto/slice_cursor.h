// A walk through the memory of an operation, whether it is one slice or several.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/guarded_copy.h"
#include "src/proto/operation.h"

namespace exs::proto {

// Refers to the vector of the operation, not to the operation.
class SliceCursor {
 public:
  SliceCursor() = default;
  explicit SliceCursor(const Operation& operation)
      : current_(operation.vector.empty() ? operation.memory : LocalSlice{}),
        rest_(operation.vector),
        left_bytes_(operation.memory.length_bytes) {}

  [[nodiscard]] std::uint64_t left_bytes() const noexcept { return left_bytes_; }

  // The next bytes that lie in one slice, at most `most_bytes`. Empty at the end, and if most_bytes is 0.
  LocalSlice next(std::uint64_t most_bytes) {
    while (current_.length_bytes == 0 && !rest_.empty()) {
      current_ = rest_.front();
      rest_ = rest_.subspan(1);
    }
    LocalSlice taken = current_;
    taken.length_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(current_.length_bytes, most_bytes));
    current_.address += taken.length_bytes;
    current_.length_bytes -= taken.length_bytes;
    left_bytes_ -= taken.length_bytes;
    return taken;
  }

  // Copy as many bytes as both have, and return how many. They throw MemoryGone where a piece is not there.
  std::size_t fill_from(std::span<const std::byte> bytes) {
    std::size_t copied = 0;
    while (copied < bytes.size() && left_bytes_ > 0) {
      const LocalSlice piece = next(bytes.size() - copied);
      if (piece.address == nullptr) break;  // of no bytes
      copy_of_program(piece.address, bytes.data() + copied, piece.length_bytes);
      copied += piece.length_bytes;
    }
    return copied;
  }
  std::size_t drain_into(std::span<std::byte> bytes) {
    std::size_t copied = 0;
    while (copied < bytes.size() && left_bytes_ > 0) {
      const LocalSlice piece = next(bytes.size() - copied);
      copy_of_program(bytes.data() + copied, piece.address, piece.length_bytes);
      copied += piece.length_bytes;
    }
    return copied;
  }

 private:
  LocalSlice current_;
  std::span<const LocalSlice> rest_;
  std::uint64_t left_bytes_ = 0;
};

// Copies as many bytes of a message as the receive has room for, from `offset` on, and returns how many.
inline std::size_t copy_payload(const ArrivingMessage& message, std::size_t offset, std::size_t payload_bytes,
                                const Operation& receive) {
  const std::size_t taken = std::min<std::size_t>(payload_bytes, receive.memory.length_bytes);
  if (receive.vector.empty()) {
    message.copy(offset, {receive.memory.address, taken});
    return taken;
  }
  SliceCursor into(receive);
  for (std::size_t copied = 0; copied < taken;) {
    const LocalSlice piece = into.next(taken - copied);
    message.copy(offset + copied, {piece.address, piece.length_bytes});
    copied += piece.length_bytes;
  }
  return taken;
}

}  // namespace exs::proto
