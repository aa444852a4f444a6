// Bytes that tell position and seed, so that a misplaced one shows.
#pragma once

#include <cstddef>
#include <vector>

namespace exs::test {

inline std::vector<std::byte> pattern(std::size_t length, unsigned seed = 1) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed) & 0xFF);
  return bytes;
}

}  // namespace exs::test
