// Snapshots of memory that its owner updates: what they tell when there is none.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "tests/conformance/test_bed.h"

namespace exs::test {
namespace snapshots_test {

constexpr std::size_t kSharedBytes = 4096;

// The left end publishes the beginning of the memory, the right end reads into the rest.
struct Fixture {
  TestBed bed;

  int publish() {
    return exs_send(bed.connected(), bed.at(), kSharedBytes, EXS_PERSISTENT, bed.q(), nullptr, bed.mh());
  }
  std::string window(std::int64_t timeout_ns) {
    return outcome(
        static_cast<int>(exs_recv_window(bed.peer(), bed.at(kSharedBytes), 64, bed.mh(), 64, 0, timeout_ns)));
  }
  exs_slots_t* slots() { return static_cast<exs_slots_t*>(bed.at()); }
  void update(char letter) {
    std::memset(exs_slots_begin(slots()), letter, 64);
    exs_slots_end(slots());
  }
  std::string snapshot(std::int64_t timeout_ns, std::size_t length = 64) {
    return outcome(static_cast<int>(
        exs_recv_snapshot(bed.peer(), bed.at(kSharedBytes), length, bed.mh(), 0, 0, nullptr, timeout_ns)));
  }
};

}  // namespace snapshots_test

BOOST_FIXTURE_TEST_SUITE(snapshots_test, Fixture)

// The first read takes place however little time there is.
// shows: exs_recv_window ENOMSG ETIMEDOUT EINPROGRESS
BOOST_AUTO_TEST_CASE(no_memory_too_little_time_and_an_update_are_told_apart) {
  BOOST_TEST(window(1'000'000) == "ENOMSG");
  BOOST_REQUIRE_EQUAL(publish(), 0);
  BOOST_TEST(window(-1) == "ok");
  BOOST_TEST(window(0) == "ETIMEDOUT");
  exs_window_begin(static_cast<exs_window_t*>(bed.at()));
  BOOST_TEST(window(0) == "EINPROGRESS");
}

// shows: exs_recv_snapshot ENOMSG EINVAL ETIMEDOUT
BOOST_AUTO_TEST_CASE(slots_are_read_and_their_absence_is_told) {
  BOOST_TEST(snapshot(1'000'000) == "ENOMSG");
  BOOST_REQUIRE_EQUAL(publish(), 0);
  BOOST_TEST(snapshot(-1) == "EINVAL");
  exs_slots_init(slots(), 5, 200);
  BOOST_TEST(snapshot(-1) == "ENOMSG");
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    update(letter);
    BOOST_REQUIRE_EQUAL(snapshot(-1), "ok");
    BOOST_TEST(*static_cast<char*>(bed.at(kSharedBytes)) == letter);
  }
  BOOST_TEST(snapshot(0) == "ETIMEDOUT");
  BOOST_TEST(snapshot(-1, 201) == "ERANGE");
}

// The reads themselves make the updates: each puts a word of its slot into the counter, and then the other
// slot is the newest. The limit grows until there is time for a try.
// shows: exs_recv_snapshot EINPROGRESS
BOOST_AUTO_TEST_CASE(an_owner_that_is_too_fast_for_the_slots_is_told) {
  exs_slots_init(slots(), 2, 64);
  for (const std::uint64_t counter : {2 * 100, 2 * 301}) {
    *static_cast<std::uint64_t*>(exs_slots_begin(slots())) = counter;
    exs_slots_end(slots());
  }
  BOOST_REQUIRE_EQUAL(publish(), 0);
  BOOST_REQUIRE_EQUAL(snapshot(-1), "ok");
  std::string told = "ETIMEDOUT";
  for (std::int64_t limit_ns = 1'000'000; told == "ETIMEDOUT"; limit_ns *= 2)
    told = outcome(
        static_cast<int>(exs_recv_snapshot(bed.peer(), bed.at(), 8, bed.mh(), 0, 0, nullptr, limit_ns)));
  BOOST_TEST(told == "EINPROGRESS");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
