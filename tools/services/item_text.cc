// SPDX-License-Identifier: BSD-2-Clause
#include "tools/services/item_text.h"

#include <charconv>
#include <cstddef>
#include <cstdint>

#include "tools/common/failure.h"
#include "tools/common/units.h"

namespace services {
namespace {

struct Range {
  std::uint32_t first, last;
};
// Code points of one length in UTF-8, without surrogates and controls.
constexpr Range kOfTwo = {0xa0, 0x7ff};
constexpr Range kOfThree = {0x800, 0xffff};
constexpr Range kOfFour = {0x10000, 0x10ffff};
constexpr Range kSurrogates = {0xd800, 0xdfff};

bool contains(const Range& range, std::uint32_t point) {
  return point >= range.first && point <= range.last;
}

// Returns the bytes of the printable character at `at`; 0: there is none.
std::size_t length_of_character(const std::string& bytes, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
  };
  const std::uint32_t first = byte(at);
  if (first < 0x80) return (first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t' ? 1 : 0;
  const std::size_t length = first >> 5 == 0x6 ? 2 : first >> 4 == 0xe ? 3 : first >> 3 == 0x1e ? 4 : 0;
  if (length == 0 || bytes.size() - at < length) return 0;
  std::uint32_t point = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(at + i) >> 6 != 0x2) return 0;
    point = point << 6 | (byte(at + i) & 0x3f);
  }
  const Range& range = length == 2 ? kOfTwo : length == 3 ? kOfThree : kOfFour;
  return contains(range, point) && !contains(kSurrogates, point) ? length : 0;
}

}  // namespace

std::string bytes_of_hex(const std::string& word) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < word.size(); at += 2) {
    unsigned char byte = 0;
    const char* const end = word.data() + at + 2;
    const auto parsed = std::from_chars(word.data() + at, end, byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end) break;
    bytes.push_back(static_cast<char>(byte));
  }
  if (bytes.size() * 2 != word.size())
    throw tools::UsageError("--hex: \"" + word + "\" is not an even number of hexadecimal digits");
  return bytes;
}

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += tools::format("%02x", byte);
  return text;
}

std::string printable(const std::string& bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = length_of_character(bytes, at);
    text += length > 0 ? bytes.substr(at, length)
                       : tools::format("\\x%02x", static_cast<unsigned char>(bytes[at]));
    at += length > 0 ? length : 1;
  }
  return text;
}

}  // namespace services
