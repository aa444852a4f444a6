// Which way a READ takes: both are tried, and the choice follows what they took, by a clock that the test alone moves.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/read_choice.h"

#include <boost/test/unit_test.hpp>

using namespace exs::shm;

namespace read_choice_test {

constexpr std::size_t kLength = 64 * 1024;

std::uint64_t now_ns = 0;
std::uint64_t tell_time() {
  return now_ns;
}

struct Fixture {
  Fixture() { now_ns = 1'000'000; }

  void read_in_pieces(std::uint64_t ns, std::size_t bytes_moved = kLength) {
    BOOST_REQUIRE(!choice.prefers_call(kLength));
    const bool is_timed = choice.begin_pieces(kLength);
    now_ns += ns;
    if (is_timed) choice.end_pieces(kLength, bytes_moved);
  }
  void read_by_call(std::uint64_t ns, std::size_t bytes_moved = kLength) {
    BOOST_REQUIRE(choice.prefers_call(kLength));
    const std::uint64_t begun_ns = choice.begin_call(kLength);
    now_ns += ns;
    choice.end_call(kLength, bytes_moved, begun_ns);
  }
  void try_both(std::uint64_t pieces_ns, std::uint64_t call_ns) {
    for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) read_in_pieces(pieces_ns);
    for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) read_by_call(call_ns);
  }
  void read_until_next_trial() {
    for (std::uint32_t i = 2 * ReadChoice::kTrialReads; i < ReadChoice::kReadsAChoice; ++i)
      choice.prefers_call(kLength) ? read_by_call(1) : read_in_pieces(1);
  }

  ReadChoice choice{tell_time};
};

}  // namespace read_choice_test

BOOST_FIXTURE_TEST_SUITE(read_choice_test, Fixture)

BOOST_AUTO_TEST_CASE(the_faster_way_is_chosen_until_the_next_trial) {
  try_both(1000, 500);
  BOOST_TEST(choice.prefers_call(kLength));
  read_until_next_trial();
  BOOST_TEST(!choice.prefers_call(kLength));  // pieces are tried first
  try_both(500, 5000);
  BOOST_TEST(!choice.prefers_call(kLength));
}

BOOST_AUTO_TEST_CASE(a_call_that_is_hardly_faster_is_not_chosen) {
  try_both(1000, 950);
  BOOST_TEST(!choice.prefers_call(kLength));
}

BOOST_AUTO_TEST_CASE(one_odd_trial_does_not_change_much) {
  try_both(1000, 500);
  read_until_next_trial();
  try_both(900, 1000);
  BOOST_TEST(choice.prefers_call(kLength));  // 933 and 833, with half of the trial before
  read_until_next_trial();
  try_both(900, 1000);
  BOOST_TEST(!choice.prefers_call(kLength));
}

BOOST_AUTO_TEST_CASE(reads_that_take_long_by_chance_do_not_count) {
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) read_in_pieces(i % 4 == 0 ? 100'000 : 500);
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) read_by_call(1000);
  BOOST_TEST(!choice.prefers_call(kLength));
}

BOOST_AUTO_TEST_CASE(each_length_has_a_choice_of_its_own) {
  try_both(1000, 500);
  BOOST_TEST(choice.prefers_call(16 * 1024 + 1));
  BOOST_TEST(!choice.prefers_call(16 * 1024));
  BOOST_TEST(!choice.prefers_call(kLength + 1));
  BOOST_TEST(!choice.prefers_call(1024 * 1024));
}

BOOST_AUTO_TEST_CASE(time_counts_for_pieces_while_any_are_under_way) {
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) BOOST_REQUIRE(choice.begin_pieces(kLength));
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) {
    now_ns += 400;
    choice.end_pieces(kLength, kLength);
  }
  now_ns += 1'000'000;
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) read_by_call(500);
  BOOST_TEST(!choice.prefers_call(kLength));
}

BOOST_AUTO_TEST_CASE(calls_are_tried_once_the_timed_pieces_have_ended) {
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) BOOST_REQUIRE(choice.begin_pieces(kLength));
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) {
    BOOST_REQUIRE(!choice.prefers_call(kLength));
    BOOST_TEST(!choice.begin_pieces(kLength));
    choice.end_pieces(kLength, kLength);
  }
  BOOST_TEST(choice.prefers_call(kLength));
}

// The trial goes on meanwhile: a peer that is slow does not hold it for long.
BOOST_AUTO_TEST_CASE(a_way_by_which_nothing_came_is_not_chosen) {
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) BOOST_REQUIRE(choice.begin_pieces(kLength));
  for (std::uint32_t i = 0; i < ReadChoice::kWaitedMost; ++i) BOOST_REQUIRE(!choice.begin_pieces(kLength));
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) read_by_call(1'000'000);
  BOOST_TEST(choice.prefers_call(kLength));
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) choice.end_pieces(kLength, 0);
  read_until_next_trial();
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) read_in_pieces(1000);
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) read_by_call(1'000'000, 0);
  BOOST_TEST(!choice.prefers_call(kLength));
}

BOOST_AUTO_TEST_SUITE_END()
