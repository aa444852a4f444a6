// How far an end of a ring has come: in slots, and in bytes of the annex. Both ends count alike from the lengths of the records,
// so no position is ever passed, and none that a peer writes is used.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/provider/shm/layout.h"

namespace exs::shm {

// More than the protocol's longest message.
inline constexpr std::size_t kRecordBytesMax = std::size_t{72} * 1024;

// The part of a record's payload in the annex.
constexpr std::size_t annexed(std::size_t length_bytes) {
  return length_bytes > kSlotPayload ? length_bytes - kSlotPayload : 0;
}

struct RingAccount {
  std::uint64_t slots = 0;
  std::uint64_t annex_bytes = 0;

  // Behind one more record of that length. In the annex it takes whole lines, and, because it lies there in one piece, all that
  // is left before the end where that is too little.
  [[nodiscard]] constexpr RingAccount after(std::size_t length_bytes) const {
    return {slots + 1, annex_start(length_bytes) + lines(annexed(length_bytes))};
  }
  // The begin of that record's part in the annex.
  [[nodiscard]] constexpr std::uint64_t annex_start(std::size_t length_bytes) const {
    const std::uint64_t left = kAnnexBytes - (annex_bytes & (kAnnexBytes - 1));
    return annexed(length_bytes) > left ? annex_bytes + left : annex_bytes;
  }

 private:
  static constexpr std::uint64_t lines(std::size_t bytes) {
    return (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  }
};
// Even with the skipped bytes before it, the longest record fits into an empty annex.
static_assert(2 * kRecordBytesMax <= kAnnexBytes);

}  // namespace exs::shm
