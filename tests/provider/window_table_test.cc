// The table of windows: keys, directions, bounds.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <set>

#include "src/provider/window_table.h"
#include "tests/support/property.h"

using namespace exs;

BOOST_AUTO_TEST_SUITE(window_table_test)

BOOST_AUTO_TEST_CASE(only_the_range_in_the_direction_is_found) {
  const bool held = exs::test::holds("find", [] {
    const auto secret = exs::test::draw<std::uint64_t>();
    WindowTable table({secret, 0});
    std::byte memory[64];
    const auto access = static_cast<Access>(exs::test::draw(1, 4));
    const auto direction = static_cast<Access>(exs::test::draw(1, 3));
    const std::uint32_t stag = *table.open(memory, access);
    const auto offset = exs::test::draw_index(2) == 0 ? exs::test::draw<std::uint64_t>(0, 70)
                                                      : exs::test::draw<std::uint64_t>();
    const auto length =
        exs::test::draw_index(2) == 0 ? exs::test::draw<std::uint64_t>(1, 70) : ~std::uint64_t{0};
    const WindowView view = table.find(stag, offset, length, direction);
    const bool allowed = (static_cast<unsigned>(access) & static_cast<unsigned>(direction)) != 0;
    const bool inside = offset < 64 && length <= 64 - offset;
    EXS_HOLD((view.error == WindowError::kNone) == (allowed && inside));
    if (view.error == WindowError::kNone) EXS_HOLD(view.start == memory + offset);
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(keys_are_distinct_and_a_slot_never_repeats_its_last_key) {
  WindowTable table({0, 0});
  std::byte memory[8];
  std::set<std::uint32_t> keys;
  for (int i = 0; i < 1000; ++i) keys.insert(*table.open(memory, Access::kRemoteRead));
  BOOST_TEST(keys.size() == 1000U);
  BOOST_TEST(*keys.begin() > 1U);
  std::uint32_t last = *keys.begin();
  for (int i = 0; i < 100'000; ++i) {
    BOOST_REQUIRE(table.close(last).ok());
    const std::uint32_t next = *table.open(memory, Access::kRemoteRead);
    BOOST_REQUIRE(next != last);
    BOOST_REQUIRE(next > 1U);
    BOOST_REQUIRE((table.find(last, 0, 1, Access::kRemoteRead).error == WindowError::kUnknownKey));
    last = next;
  }
}

BOOST_AUTO_TEST_CASE(the_table_has_an_end) {
  WindowTable table({99, 0});
  std::byte memory[8];
  std::uint32_t key = 0;
  for (int i = 0; i < 65536; ++i) key = *table.open(memory, Access::kRemoteRead);
  BOOST_TEST(table.open(memory, Access::kRemoteRead).error().error() == ENOSPC);
  BOOST_TEST(table.close(key).ok());
  BOOST_TEST(table.open(memory, Access::kRemoteRead).has_value());
}

BOOST_AUTO_TEST_CASE(served_windows_stay_open) {
  WindowTable table({5, 0});
  std::byte memory[8];
  const std::uint32_t key = *table.open(memory, Access::kRemoteRead);
  table.begin_serving(key);
  table.begin_serving(key);
  table.end_serving(key);
  BOOST_TEST(table.close(key).error() == EBUSY);
  table.end_serving(key);
  BOOST_TEST(table.close(key).ok());
  BOOST_TEST(table.close(key).error() == EINVAL);
}

BOOST_AUTO_TEST_CASE(the_peer_counts_from_the_address_it_was_told) {
  WindowTable table({7, 0});
  std::byte memory[100];
  constexpr std::uint64_t kFirst = 0x7F00'1234'5000;
  const auto stag = table.open(memory, Access::kRemoteRead, kFirst);
  BOOST_REQUIRE(stag.has_value());
  BOOST_TEST((table.find(*stag, kFirst + 60, 40, Access::kRemoteRead).start == memory + 60));
  BOOST_TEST((table.find(*stag, kFirst + 60, 41, Access::kRemoteRead).error == WindowError::kBounds));
  BOOST_TEST((table.find(*stag, kFirst - 1, 1, Access::kRemoteRead).error == WindowError::kBounds));
  BOOST_TEST((table.find(*stag, 0, 1, Access::kRemoteRead).error == WindowError::kBounds));
  BOOST_TEST((table.find(*stag, UINT64_MAX, 2, Access::kRemoteRead).error == WindowError::kWraps));
}

// What a blind guess of a peer is worth: one of 65,536 for who knows the slot, and it has one try a connection.
BOOST_AUTO_TEST_CASE(one_tag_of_all_that_name_a_slot_opens_its_window) {
  WindowTable table({77, 0});
  std::byte memory[8];
  const std::uint32_t key = *table.open(memory, Access::kRemoteRead);
  int opening = 0;
  for (std::uint32_t drawn = 0; drawn <= 0xFFFF; ++drawn) {
    const WindowView view = table.find((key & 0xFFFF0000) | drawn, 0, 1, Access::kRemoteRead);
    const WindowView other_way = table.find((key & 0xFFFF) | drawn << 16, 0, 1, Access::kRemoteRead);
    opening += static_cast<int>(view.error == WindowError::kNone) +
               static_cast<int>(other_way.error == WindowError::kNone);
    BOOST_REQUIRE((view.error == WindowError::kNone || view.start == nullptr));
  }
  BOOST_TEST(opening == 2);  // the key itself, met on both ways
}

// One read and one window of before told all later keys: the sink and the slot showed 48 of 64 bits of the state.
BOOST_AUTO_TEST_CASE(tags_are_siphash_of_their_number) {
  const TagSource tags({0x0706050403020100, 0x0f0e0d0c0b0a0908});
  // Expect: what the paper's authors print for these eight bytes (vectors.h, vectors_sip64[8]).
  BOOST_TEST(tags.at(0x0706050403020100) == 0x93f5f5799a932462U);
}

BOOST_AUTO_TEST_CASE(each_bit_of_a_key_is_as_often_set_as_not) {
  WindowTable table({1, 2});
  std::byte memory[8];
  constexpr int kKeys = 65536;
  int set[16] = {};
  int unchanged[16] = {};
  std::uint32_t last = 0;
  for (int i = 0; i < kKeys; ++i) {
    const std::uint32_t key = *table.open(memory, Access::kRemoteRead);
    BOOST_REQUIRE(table.close(key).ok());
    for (unsigned bit = 0; bit < 16; ++bit) {
      set[bit] += static_cast<int>(key >> bit & 1);
      unchanged[bit] += static_cast<int>(~(key ^ last) >> bit & 1);
    }
    last = key;
  }
  // Expect: within five standard deviations of 128 each; the key is fixed, so this holds always or never.
  for (unsigned bit = 0; bit < 16; ++bit) {
    BOOST_TEST(std::abs(set[bit] - kKeys / 2) < 640);
    BOOST_TEST(std::abs(unchanged[bit] - kKeys / 2) < 640);
  }
}

BOOST_AUTO_TEST_SUITE_END()
