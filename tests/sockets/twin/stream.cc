// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/stream.h"

namespace twin {
namespace {

// Eight bytes at a time: splitmix64 of the stream and of position / 8.
std::uint64_t word(std::uint64_t stream, std::uint64_t index) {
  std::uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15U + stream * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31U);
}

class Cursor {
 public:
  Cursor(std::uint64_t stream, std::uint64_t position)
      : stream_(stream), position_(position), word_(word(stream, position / 8)) {}

  unsigned char next() {
    const auto byte = static_cast<unsigned char>(word_ >> (position_ % 8 * 8));
    if (++position_ % 8 == 0) word_ = word(stream_, position_ / 8);
    return byte;
  }

 private:
  std::uint64_t stream_;
  std::uint64_t position_;
  std::uint64_t word_;
};

}  // namespace

void fill_from_stream(std::span<unsigned char> bytes, std::uint64_t stream, std::uint64_t position) {
  Cursor cursor(stream, position);
  for (unsigned char& byte : bytes) byte = cursor.next();
}

std::int64_t first_wrong(std::span<const unsigned char> bytes, std::uint64_t stream, std::uint64_t position) {
  Cursor cursor(stream, position);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != cursor.next()) return static_cast<std::int64_t>(i);
  return -1;
}

std::uint64_t hash_of(std::span<const unsigned char> bytes, std::uint64_t hash) {
  if (hash == 0) hash = 0xcbf29ce484222325U;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3U;
  return hash;
}

}  // namespace twin
