// The bytes of a stream. Each depends on the stream and on its position, so that a lost, doubled or moved
// byte shows.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace twin {

void fill_from_stream(std::span<unsigned char> bytes, std::uint64_t stream, std::uint64_t position);
// Offset of the first byte that does not belong to the stream; -1: there is none.
std::int64_t first_wrong(std::span<const unsigned char> bytes, std::uint64_t stream, std::uint64_t position);
// Continues from `hash`; begin with 0.
std::uint64_t hash_of(std::span<const unsigned char> bytes, std::uint64_t hash);

}  // namespace twin
