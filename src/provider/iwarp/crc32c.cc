// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

namespace exs::iwarp {
namespace {

// isa-l counts bytes in an int.
constexpr std::size_t kPieceMax = std::size_t{1} << 30;

}  // namespace

std::uint32_t crc_add(std::uint32_t running, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), kPieceMax);
    // isa-l's prototype lacks const; it only reads.
    auto* start = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    running = crc32_iscsi(start, static_cast<int>(piece), running);
    bytes = bytes.subspan(piece);
  }
  return running;
}

void store_crc(std::byte* to, std::uint32_t running) {
  const std::uint32_t crc = ~running;
  for (unsigned i = 0; i < 4; ++i) to[i] = static_cast<std::byte>(crc >> (8 * i));
}

bool crc_matches(const std::byte* stored, std::uint32_t running) {
  std::byte expected[4];
  store_crc(expected, running);
  return std::memcmp(stored, expected, sizeof expected) == 0;
}

}  // namespace exs::iwarp
