// CRC32c (Castagnoli) as MPA uses it. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace exs::iwarp {

inline constexpr std::uint32_t kCrcStart = 0xFFFFFFFF;

// Feeds bytes into a running CRC that began as kCrcStart.
std::uint32_t crc_add(std::uint32_t running, std::span<const std::byte> bytes);

// Convert a running CRC to its wire form and back. MPA stores it little-endian, as iSCSI does.
void store_crc(std::byte* to, std::uint32_t running);
bool crc_matches(const std::byte* stored, std::uint32_t running);

}  // namespace exs::iwarp
