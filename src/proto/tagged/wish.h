// The wanted messages of those that a peer holds back: the bits that a message must have, except ignored
// ones.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::proto {

struct Wish {
  std::uint64_t bits = 0;
  std::uint64_t ignore = 0;

  [[nodiscard]] bool fits(std::uint64_t other) const noexcept { return ((bits ^ other) & ~ignore) == 0; }
  // Whatever fits the other one fits this.
  [[nodiscard]] bool covers(const Wish& other) const noexcept {
    return fits(other.bits) && (other.ignore & ~ignore) == 0;
  }
  // Afterwards it fits all messages that either fits, and perhaps more.
  void include(const Wish& other) noexcept {
    ignore |= other.ignore | (bits ^ other.bits);
    bits &= ~ignore;
  }
};

}  // namespace exs::proto
