// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace exs::fuzz {
namespace {

// At the edges of lengths and counts.
constexpr std::array<std::uint64_t, 16> kEdges{
    0,      1,      2,          0x7f,       0x80,       0xff,       0x100,          0x7fff,
    0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_MAX, 0x100000000ULL, 1ULL << 63U};

std::ptrdiff_t place(std::size_t at) {
  return static_cast<std::ptrdiff_t>(at);
}

}  // namespace

std::vector<std::byte> Mutator::change(std::vector<std::byte> input, const std::vector<std::byte>& other,
                                       std::size_t most) {
  if (input.empty()) input.resize(1 + below(64));
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    change_once(input, other);
    if (input.empty()) input.resize(1);
  }
  if (input.size() > most) input.resize(most);
  return input;
}

void Mutator::change_once(std::vector<std::byte>& input, const std::vector<std::byte>& other) {
  const std::size_t at = below(input.size());
  switch (below(8)) {
    case 0: input[at] ^= static_cast<std::byte>(1U << below(8)); break;
    case 1: input[at] = static_cast<std::byte>(engine_()); break;
    case 2: put_number(input); break;
    case 3: insert(input, other); break;
    case 4: insert(input, std::vector<std::byte>(1 + below(16), static_cast<std::byte>(engine_()))); break;
    case 5:
      input.erase(input.begin() + place(at), input.begin() + place(at + 1 + below(input.size() - at)));
      break;
    case 6: overwrite(input, other); break;
    default: overwrite(input, std::vector<std::byte>(input)); break;
  }
}

void Mutator::put_number(std::vector<std::byte>& input) {
  const std::size_t width = std::size_t{1} << below(4);
  if (width > input.size()) return;
  std::uint64_t number = kEdges[below(kEdges.size())];
  if (below(2) == 0) number = __builtin_bswap64(number) >> (64 - 8 * width);
  std::memcpy(input.data() + below(input.size() - width + 1), &number, width);
}

void Mutator::insert(std::vector<std::byte>& input, const std::vector<std::byte>& from) {
  if (from.empty()) return;
  const std::size_t first = below(from.size());
  const std::size_t count = 1 + below(from.size() - first);
  input.insert(input.begin() + place(below(input.size() + 1)), from.begin() + place(first),
               from.begin() + place(first + count));
}

void Mutator::overwrite(std::vector<std::byte>& input, const std::vector<std::byte>& from) {
  if (from.empty()) return;
  const std::size_t first = below(from.size());
  const std::size_t at = below(input.size());
  const std::size_t count = 1 + below(std::min(from.size() - first, input.size() - at));
  std::copy_n(from.begin() + place(first), count, input.begin() + place(at));
}

}  // namespace exs::fuzz
