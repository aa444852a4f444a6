// Bytes that encode position and seed, so that a misplaced one shows.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

// For loops over a message's bytes, where a sanitizer would take much longer than the library takes with the
// message.
#define EXS_NOT_INSTRUMENTED [[gnu::no_sanitize("address", "thread", "undefined")]]

namespace exs::test {

EXS_NOT_INSTRUMENTED inline std::vector<std::byte> pattern(std::size_t length, unsigned seed = 1) {
  std::vector<std::byte> bytes(length);
  std::byte* const to = bytes.data();
  for (std::size_t i = 0; i < length; ++i) to[i] = static_cast<std::byte>((i * 31 + i / 251 + seed) & 0xFF);
  return bytes;
}

// A sanitizer makes one check for all the bytes.
inline bool equal_bytes(std::span<const std::byte> left, std::span<const std::byte> right) {
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0);
}

}  // namespace exs::test
