// Network order at every width and alignment.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/bytes.h"
#include "tests/support/property.h"

#include <array>

#include <boost/test/unit_test.hpp>

namespace bytes_test {

// What a shift-by-shift encoder writes: says the layout without the code under test.
template <typename Integer>
std::array<std::byte, sizeof(Integer)> most_significant_first(Integer value) {
  std::array<std::byte, sizeof(Integer)> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * (bytes.size() - 1 - i)));
  }
  return bytes;
}

template <typename Integer>
bool holds_for_all_values() {
  return exs::test::holds(
      "store_be writes the most significant byte first, load_be undoes it, neighbours stay", [] {
        const auto value = exs::test::draw<Integer>();
        const bool odd = exs::test::draw_bool();
        constexpr std::byte kUntouched{0xAA};
        std::array<std::byte, sizeof(Integer) + 3> memory{};
        memory.fill(kUntouched);
        const std::size_t at = odd ? 1 : 2;
        exs::store_be(memory.data() + at, value);
        const auto expected = most_significant_first(value);
        for (std::size_t i = 0; i < expected.size(); ++i) EXS_HOLD(memory[at + i] == expected[i]);
        EXS_HOLD(memory[at - 1] == kUntouched);
        EXS_HOLD(memory[at + expected.size()] == kUntouched);
        EXS_HOLD(exs::load_be<Integer>(memory.data() + at) == value);
      });
}

}  // namespace bytes_test

BOOST_AUTO_TEST_SUITE(bytes_test)

BOOST_AUTO_TEST_CASE(known_values) {
  std::array<std::byte, 8> memory{};
  exs::store_be<std::uint32_t>(memory.data(), 0x01020304U);
  BOOST_TEST(std::to_integer<int>(memory[0]) == 1);
  BOOST_TEST(std::to_integer<int>(memory[3]) == 4);
  BOOST_TEST(exs::load_be<std::uint16_t>(memory.data() + 1) == 0x0203);
  static_assert(exs::to_network_order<std::uint8_t>(0xFE) == 0xFE);
}

BOOST_AUTO_TEST_CASE(one_byte) {
  BOOST_TEST(holds_for_all_values<std::uint8_t>());
}
BOOST_AUTO_TEST_CASE(two_bytes) {
  BOOST_TEST(holds_for_all_values<std::uint16_t>());
}
BOOST_AUTO_TEST_CASE(four_bytes) {
  BOOST_TEST(holds_for_all_values<std::uint32_t>());
}
BOOST_AUTO_TEST_CASE(eight_bytes) {
  BOOST_TEST(holds_for_all_values<std::uint64_t>());
}

BOOST_AUTO_TEST_SUITE_END()
