// The bytes of message number N: each depends on N and on its offset. So a lost, doubled, reordered, shifted or damaged message is
// detected.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tools {

void fill_pattern(std::span<std::byte> message, std::uint64_t number);
// Returns the offset of the first wrong byte, or nullopt if every byte is right.
std::optional<std::size_t> first_wrong_byte(std::span<const std::byte> message, std::uint64_t number);

}  // namespace tools
