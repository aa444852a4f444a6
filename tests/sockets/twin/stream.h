// The bytes of a stream: each depends on the stream and on its position, so that one which is lost, doubled or moved shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace twin {

void fill_from_stream(std::span<unsigned char> bytes, std::uint64_t stream, std::uint64_t position);
// Offset of the first byte that is not the stream's; -1: none.
std::int64_t first_wrong(std::span<const unsigned char> bytes, std::uint64_t stream, std::uint64_t position);
// Goes on from `hash`; 0 begins.
std::uint64_t hash_of(std::span<const unsigned char> bytes, std::uint64_t hash);

}  // namespace twin
