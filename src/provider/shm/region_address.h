// The address of a window in the form for the peer.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::shm {

// An address on the wire: in an announced region, or plain. 0: it has no such form.
inline constexpr std::uint64_t kRegionBit = std::uint64_t{1} << 63;
inline constexpr unsigned kRegionShift = 40;
constexpr std::uint64_t region_address(std::uint32_t key, std::uint64_t offset, std::uint64_t length_bytes) {
  constexpr std::uint64_t kOffsetEnd = std::uint64_t{1} << kRegionShift;
  constexpr std::uint32_t kKeyEnd = 1U << (63 - kRegionShift);
  if (key >= kKeyEnd || offset >= kOffsetEnd || length_bytes > kOffsetEnd - offset) return 0;
  return kRegionBit | std::uint64_t{key} << kRegionShift | offset;
}
constexpr bool is_region_address(std::uint64_t address) {
  return (address & kRegionBit) != 0;
}
constexpr std::uint32_t region_of(std::uint64_t address) {
  return static_cast<std::uint32_t>((address & ~kRegionBit) >> kRegionShift);
}
constexpr std::uint64_t offset_of(std::uint64_t address) {
  return address & ((std::uint64_t{1} << kRegionShift) - 1);
}

}  // namespace exs::shm
