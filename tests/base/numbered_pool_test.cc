// Numbers of a pool: each once at a time, and again when it was given back.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/numbered_pool.h"

#include <cstdint>
#include <set>

#include <boost/test/unit_test.hpp>

using exs::NumberedPool;

BOOST_AUTO_TEST_SUITE(numbered_pool_test)

BOOST_AUTO_TEST_CASE(numbers_that_are_taken_are_different_and_begin_with_0) {
  NumberedPool<int> pool;
  std::set<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < 100; ++i) {
    numbers.insert(pool.take_number());
    BOOST_TEST(pool.size() == i + 1);
    BOOST_TEST(pool.taken() == i + 1);
  }
  BOOST_TEST(numbers.size() == 100U);
  BOOST_TEST(*numbers.rbegin() == 99U);
}

BOOST_AUTO_TEST_CASE(a_number_that_was_given_back_is_the_next_one) {
  NumberedPool<int> pool;
  const std::uint32_t first = pool.take_number();
  const std::uint32_t second = pool.take_number();
  pool.give_back(first);
  BOOST_TEST(pool.taken() == 1U);
  BOOST_TEST(pool.size() == 2U);
  BOOST_TEST(pool.take_number() == first);
  pool.give_back(second);
  pool.give_back(first);
  BOOST_TEST(pool.taken() == 0U);
  BOOST_TEST(pool.take_number() == first);
  BOOST_TEST(pool.take_number() == second);
  BOOST_TEST(pool.size() == 2U);
}

BOOST_AUTO_TEST_CASE(entries_keep_what_was_written_while_the_pool_grows) {
  NumberedPool<std::uint32_t> pool;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t number = pool.take_number();
    pool[number] = number + 7;
  }
  const NumberedPool<std::uint32_t>& seen = pool;
  std::uint32_t number = 0;
  for (const std::uint32_t entry : pool) {
    BOOST_TEST(entry == number + 7);
    BOOST_TEST(seen[number] == number + 7);
    ++number;
  }
  BOOST_TEST(number == 1000U);
}

BOOST_AUTO_TEST_CASE(a_pool_that_was_cleared_begins_again) {
  NumberedPool<int> pool;
  pool.take_number();
  pool.give_back(pool.take_number());
  pool.clear();
  BOOST_TEST(pool.size() == 0U);
  BOOST_TEST(pool.taken() == 0U);
  BOOST_TEST(pool.take_number() == 0U);
  BOOST_TEST(pool.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
