// The properties of a message, and the messages that a receive takes.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::match {

struct Envelope {
  std::uint32_t source = 0;
  std::uint64_t bits = 0;
};

inline constexpr std::uint32_t kAnySource = UINT32_MAX;

struct Criteria {
  std::uint32_t source = kAnySource;
  std::uint64_t bits = 0;
  std::uint64_t ignore = 0;  // of the bits, those that may differ

  [[nodiscard]] bool fits(const Envelope& envelope) const noexcept {
    return (source == kAnySource || source == envelope.source) && ((bits ^ envelope.bits) & ~ignore) == 0;
  }
};

}  // namespace exs::match
