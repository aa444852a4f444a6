// A hostile peer (attack.h) for some seconds.
//
//   tests-provider-shm --run_test=fuzz_test -- --seconds N --seed S
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

#include "tests/provider/shm/attack.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;

namespace fuzz_test {

std::uint64_t option(const char* name, std::uint64_t otherwise) {
  auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; ++i) {
    if (std::string_view(suite.argv[i]) == name) return std::strtoull(suite.argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

}  // namespace fuzz_test

BOOST_AUTO_TEST_SUITE(fuzz_test)

BOOST_AUTO_TEST_CASE(hostile_records) {
  ::setenv("EXS_LOG", "off", 0);  // before the first line of it
  const std::uint64_t seconds = option("--seconds", 2);
  std::uint64_t seed = option("--seed", std::random_device{}());
  const std::uint64_t deadline_ns = monotonic_ns() + seconds * 1'000'000'000;
  std::uint64_t attacks = 0;
  std::uint64_t rounds = 0;
  std::map<int, std::uint64_t> endings;
  do {
    BOOST_TEST_CONTEXT("--seed " << seed) {
      exs::test::SeededDice dice(seed);
      Attack attack(dice);
      for (int i = 0; i < 200 && attack.go_on(); ++i) ++rounds;
      ++endings[attack.ending()];
      attack.end();
      BOOST_REQUIRE(attack.memory_is_whole());
    }
    ++attacks;
    ++seed;
  } while (monotonic_ns() < deadline_ns);
  std::cout << attacks << " attacks, " << rounds << " rounds survived; ended with";
  for (const auto& [error, count] : endings) std::cout << ' ' << error << ": " << count;
  std::cout << ", the last of seed " << seed - 1 << '\n';
}

BOOST_AUTO_TEST_SUITE_END()
