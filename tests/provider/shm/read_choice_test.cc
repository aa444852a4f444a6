// Which way a READ takes: both are tried, and the choice follows what came of it.
#include "src/provider/shm/read_choice.h"

#include <boost/test/unit_test.hpp>

using namespace exs::shm;

namespace {

constexpr std::size_t kLength = 64 * 1024;

// A trial in which `moved` bytes of each read come by either way: 0 is slower than any.
void try_both(ReadChoice& choice, std::size_t moved_in_pieces, std::size_t moved_by_call) {
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) {
    BOOST_REQUIRE(!choice.prefers_call(kLength));
    BOOST_REQUIRE(choice.begin_pieces(kLength));
    choice.end_pieces(kLength, moved_in_pieces);
  }
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) {
    BOOST_REQUIRE(choice.prefers_call(kLength));
    const std::uint64_t begun_ns = choice.begin_call(kLength);
    BOOST_REQUIRE(begun_ns != 0U);
    choice.end_call(kLength, moved_by_call, begun_ns);
  }
}

void read_until_next_trial(ReadChoice& choice) {
  for (std::uint32_t i = 2 * ReadChoice::kTrialReads; i < ReadChoice::kReadsAChoice; ++i) {
    if (choice.prefers_call(kLength)) {
      BOOST_REQUIRE(choice.begin_call(kLength) == 0U);
    } else {
      BOOST_REQUIRE(!choice.begin_pieces(kLength));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(read_choice_test)

BOOST_AUTO_TEST_CASE(what_moved_nothing_is_not_chosen) {
  ReadChoice choice;
  try_both(choice, 0, kLength);
  BOOST_TEST(choice.prefers_call(kLength));
  read_until_next_trial(choice);
  try_both(choice, kLength, 0);
  BOOST_TEST(!choice.prefers_call(kLength));
  read_until_next_trial(choice);
  try_both(choice, 0, kLength);
  BOOST_TEST(choice.prefers_call(kLength));
}

BOOST_AUTO_TEST_CASE(each_length_has_a_choice_of_its_own) {
  ReadChoice choice;
  try_both(choice, 0, kLength);
  BOOST_TEST(choice.prefers_call(16 * 1024 + 1));
  BOOST_TEST(!choice.prefers_call(16 * 1024));
  BOOST_TEST(!choice.prefers_call(kLength + 1));
  BOOST_TEST(!choice.prefers_call(1024 * 1024));
}

// The trial goes on while they are under way: a peer that is slow does not hold it.
BOOST_AUTO_TEST_CASE(reads_that_end_late_or_never_do_not_stop_a_trial) {
  ReadChoice choice;
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) BOOST_REQUIRE(choice.begin_pieces(kLength));
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i)
    choice.end_call(kLength, kLength, choice.begin_call(kLength));
  BOOST_TEST(choice.prefers_call(kLength));
  for (std::uint32_t i = 0; i < ReadChoice::kTrialReads; ++i) choice.end_pieces(kLength, 0);
  read_until_next_trial(choice);
  try_both(choice, kLength, 0);
  BOOST_TEST(!choice.prefers_call(kLength));
}

BOOST_AUTO_TEST_SUITE_END()
