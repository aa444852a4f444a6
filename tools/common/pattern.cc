// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/pattern.h"

#include <endian.h>

#include <algorithm>
#include <cstring>

namespace tools {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

// The finisher of splitmix64: neighbouring arguments give unrelated words.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

std::uint64_t seed_of(std::uint64_t number) {
  return mixed(number + 0x9e3779b97f4a7c15U);
}

// The byte order is the same on every machine.
std::uint64_t word_at(std::uint64_t seed, std::size_t offset) {
  return htole64(mixed(seed + offset));
}

}  // namespace

void fill_pattern(std::span<std::byte> message, std::uint64_t number) {
  const std::uint64_t seed = seed_of(number);
  for (std::size_t offset = 0; offset < message.size(); offset += kWordBytes) {
    const std::uint64_t word = word_at(seed, offset);
    std::memcpy(&message[offset], &word, std::min(kWordBytes, message.size() - offset));
  }
}

std::optional<std::size_t> first_wrong_byte(std::span<const std::byte> message, std::uint64_t number) {
  const std::uint64_t seed = seed_of(number);
  for (std::size_t offset = 0; offset < message.size(); offset += kWordBytes) {
    const std::uint64_t word = word_at(seed, offset);
    const std::size_t length = std::min(kWordBytes, message.size() - offset);
    if (std::memcmp(&message[offset], &word, length) == 0) continue;
    const auto* right = reinterpret_cast<const std::byte*>(&word);
    std::size_t i = 0;
    while (message[offset + i] == right[i]) ++i;
    return offset + i;
  }
  return std::nullopt;
}

}  // namespace tools
