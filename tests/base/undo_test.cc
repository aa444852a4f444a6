// Undo takes back, contain() contains, and neither needs memory.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/undo.h"

#include <new>
#include <set>
#include <stdexcept>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/contain.h"
#include "base/random.h"
#include "base/room.h"

using namespace exs;

BOOST_AUTO_TEST_SUITE(undo_test)

BOOST_AUTO_TEST_CASE(what_was_begun_is_taken_back_unless_it_was_cancelled) {
  int undone = 0;
  {
    const Undo undo([&] { ++undone; });
    BOOST_TEST(undone == 0);
  }
  BOOST_TEST(undone == 1);
  {
    Undo undo([&] { ++undone; });
    undo.cancel();
  }
  BOOST_TEST(undone == 1);
}

BOOST_AUTO_TEST_CASE(a_step_without_memory_is_replaced_and_others_are_not) {
  int steps = 0;
  int replaced = 0;
  contain([&] { ++steps; }, [&] { ++replaced; });
  BOOST_TEST(steps == 1);
  BOOST_TEST(replaced == 0);
  contain([&] { throw std::bad_alloc(); }, [&] { ++replaced; });
  BOOST_TEST(replaced == 1);
}

BOOST_AUTO_TEST_CASE(room_that_was_made_needs_no_memory_and_doubles) {
  std::vector<int> vector;
  make_room(vector, 3);
  BOOST_TEST(vector.capacity() == 3U);
  make_room(vector, 3);
  BOOST_TEST(vector.capacity() == 3U);
  make_room(vector, 4);
  BOOST_TEST(vector.capacity() == 6U);
  make_room(vector, 100);
  BOOST_TEST(vector.capacity() == 100U);
}

BOOST_AUTO_TEST_CASE(numbers_that_are_drawn_are_different) {
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 100; ++i) {
    const Result<std::uint64_t> number = draw<std::uint64_t>();
    BOOST_REQUIRE(number);
    numbers.insert(*number);
  }
  BOOST_TEST(numbers.size() == 100U);
}

BOOST_AUTO_TEST_SUITE_END()
