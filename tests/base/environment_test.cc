// Variables that say yes or no.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/environment.h"

#include <cstdlib>
#include <string>

#include <boost/test/unit_test.hpp>

using namespace exs;

namespace environment_test {

constexpr const char* kName = "EXS_OF_THIS_TEST_ALONE";

bool read_as(const char* value, bool otherwise) {
  if (value == nullptr) {
    ::unsetenv(kName);
  } else {
    ::setenv(kName, value, 1);
  }
  const bool is_on = switch_from_environment(kName, otherwise);
  ::unsetenv(kName);
  return is_on;
}

}  // namespace environment_test

BOOST_AUTO_TEST_SUITE(environment_test)

BOOST_AUTO_TEST_CASE(words_say_yes_or_no_or_nothing) {
  for (const char* yes : {"1", "yes", "on", "true"}) BOOST_TEST((switch_named(yes) == true), yes);
  for (const char* no : {"0", "no", "off", "false"}) BOOST_TEST((switch_named(no) == false), no);
  for (const char* nothing : {"", "2", "YES", "yes ", "o"})
    BOOST_TEST(!switch_named(nothing).has_value(), nothing);
}

BOOST_AUTO_TEST_CASE(a_variable_without_meaning_is_the_default) {
  for (const bool otherwise : {false, true}) {
    BOOST_TEST(read_as("yes", otherwise));
    BOOST_TEST(!read_as("no", otherwise));
    for (const char* value : {static_cast<const char*>(nullptr), "", "perhaps"})
      BOOST_TEST(read_as(value, otherwise) == otherwise);
  }
}

BOOST_AUTO_TEST_CASE(an_empty_variable_counts_as_unset) {
  BOOST_TEST(unless_empty(nullptr) == nullptr);
  BOOST_TEST(unless_empty("") == nullptr);
  const char* const word = "x";
  BOOST_TEST(unless_empty(word) == word);
}

BOOST_AUTO_TEST_SUITE_END()
