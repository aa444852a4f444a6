// The bytes of message number N: each depends on N and on its offset, so a lost, doubled, reordered, shifted
// or damaged message shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tools {

void fill_pattern(std::span<std::byte> message, std::uint64_t number);
// Offset of the first wrong byte; nullopt: every byte is right.
std::optional<std::size_t> first_wrong_byte(std::span<const std::byte> message, std::uint64_t number);

}  // namespace tools
