// Bytes as digits, and what is no byte.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/hex.h"

#include <array>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(hex_test)

BOOST_AUTO_TEST_CASE(every_byte_becomes_its_two_digits_and_comes_back) {
  std::array<std::byte, 256> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
  const std::string text = exs::hex_of(all);
  BOOST_TEST(text.size() == 512U);
  BOOST_TEST(text.substr(0, 8) == "00010203");
  BOOST_TEST(text.substr(2 * 0x9f, 4) == "9fa0");
  BOOST_TEST(text.substr(508) == "feff");
  std::array<std::byte, 256> back{};
  BOOST_TEST(exs::read_hex(text, back));
  BOOST_TEST((back == all));
}

BOOST_AUTO_TEST_CASE(writing_returns_the_end_of_the_digits) {
  const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{0xab}, std::byte{0xf0}};
  char room[8] = "???????";
  BOOST_TEST(exs::write_hex(bytes, room) - room == 6);
  BOOST_TEST(std::string_view(room, 7) == "01abf0?");
}

BOOST_AUTO_TEST_CASE(digits_of_either_case_are_read) {
  std::array<std::byte, 2> bytes{};
  BOOST_TEST(exs::read_hex("aBCd", bytes));
  BOOST_TEST(exs::hex_of(bytes) == "abcd");
}

BOOST_AUTO_TEST_CASE(what_is_not_two_digits_for_each_byte_is_refused) {
  std::array<std::byte, 2> bytes{};
  for (const char* wrong :
       {"", "abc", "abcde", "abcdef", "ab", "abcg", "gbcd", "ab d", "+bcd", "ab-1", "0x0x"})
    BOOST_TEST(!exs::read_hex(wrong, bytes), wrong);
  BOOST_TEST(exs::read_hex("", {}));
}

BOOST_AUTO_TEST_SUITE_END()
