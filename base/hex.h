// Bytes as hexadecimal digits, two for each, and back.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace exs {

// Returns the end of what it has written.
inline char* write_hex(std::span<const std::byte> bytes, char* at) noexcept {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const std::byte byte : bytes) {
    *at++ = kDigits[std::to_integer<unsigned>(byte) >> 4U];
    *at++ = kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return at;
}

inline std::string hex_of(std::span<const std::byte> bytes) {
  std::string text(2 * bytes.size(), '0');
  write_hex(bytes, text.data());
  return text;
}

// False: these are not two digits for each byte.
inline bool read_hex(std::string_view digits, std::span<std::byte> into) noexcept {
  if (digits.size() != 2 * into.size()) return false;
  const char* at = digits.data();
  for (std::byte& byte : into) {
    std::uint8_t value = 0;
    const auto [end, error] = std::from_chars(at, at + 2, value, 16);
    if (error != std::errc() || end != at + 2) return false;
    byte = std::byte{value};
    at = end;
  }
  return true;
}

}  // namespace exs
