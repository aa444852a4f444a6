// SPDX-License-Identifier: BSD-2-Clause
#include "base/options.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>

namespace options_test {

struct Options {
  std::size_t struct_bytes;
  std::uint32_t first;
  std::uint32_t second;
};

// The same struct, as the next release may have it.
struct LaterOptions {
  std::size_t struct_bytes;
  std::uint32_t first;
  std::uint32_t second;
  std::uint64_t third;
};

}  // namespace options_test

BOOST_AUTO_TEST_SUITE(options_test)

BOOST_AUTO_TEST_CASE(options_that_are_not_given_keep_their_defaults) {
  Options options{0, 7, 8};
  BOOST_TEST(exs::read_options<Options>(nullptr, options));
  BOOST_TEST(options.first == 7U);
  BOOST_TEST(options.second == 8U);
}

BOOST_AUTO_TEST_CASE(options_without_their_size_are_refused) {
  Options options{0, 7, 8};
  for (const std::size_t bytes : {std::size_t{0}, sizeof(std::size_t) - 1}) {
    const Options given{bytes, 1, 2};
    BOOST_TEST(!exs::read_options(&given, options));
    BOOST_TEST(options.first == 7U);
  }
}

BOOST_AUTO_TEST_CASE(a_program_of_an_older_release_sets_what_it_knows) {
  Options options{0, 7, 8};
  const Options given{offsetof(Options, second), 1, 2};
  BOOST_TEST(exs::read_options(&given, options));
  BOOST_TEST(options.first == 1U);
  BOOST_TEST(options.second == 8U);
}

BOOST_AUTO_TEST_CASE(what_a_newer_release_adds_is_left_out) {
  Options options{};
  const LaterOptions given{sizeof given, 1, 2, UINT64_MAX};
  BOOST_TEST(exs::read_options(reinterpret_cast<const Options*>(&given), options));
  BOOST_TEST(options.first == 1U);
  BOOST_TEST(options.second == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
