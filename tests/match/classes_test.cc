// The classes of receives: one for each kind of wildcard, found again, and no more than there are tables.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/match/classes.h"

#include <boost/test/unit_test.hpp>

namespace exs::match {
namespace classes_test {

constexpr std::uint64_t kSeed = 7;

Criteria with_ignored(std::uint64_t ignored, std::uint32_t source = 3) {
  return {source, 5, ignored};
}

}  // namespace classes_test

BOOST_AUTO_TEST_SUITE(classes_test)

BOOST_AUTO_TEST_CASE(criteria_of_one_kind_are_of_one_class) {
  Classes classes(kSeed);
  const std::uint32_t plain = classes.find_or_add(with_ignored(0));
  BOOST_TEST(classes.find_or_add(with_ignored(0, 4)) == plain);
  BOOST_TEST(classes.count() == 1U);
  const std::uint32_t any = classes.find_or_add(with_ignored(0, kAnySource));
  const std::uint32_t masked = classes.find_or_add(with_ignored(0xff));
  BOOST_TEST(classes.count() == 3U);
  BOOST_TEST(any != plain);
  BOOST_TEST(masked != plain);
  BOOST_TEST(masked != any);
  BOOST_TEST(classes.find(with_ignored(0)) == plain);
  BOOST_TEST(classes.find(with_ignored(0, kAnySource)) == any);
  BOOST_TEST(classes.find(with_ignored(0xff, 9)) == masked);
  BOOST_TEST(classes.find(with_ignored(0xff, kAnySource)) == kNone);
}

BOOST_AUTO_TEST_CASE(a_class_that_was_dropped_is_not_found) {
  Classes classes(kSeed);
  classes.find_or_add(with_ignored(1));
  classes.find_or_add(with_ignored(2));
  classes.drop_last();
  BOOST_TEST(classes.count() == 1U);
  BOOST_TEST(classes.find(with_ignored(1)) == 0U);
  BOOST_TEST(classes.find(with_ignored(2)) == kNone);
}

BOOST_AUTO_TEST_CASE(there_are_as_many_classes_as_tables) {
  Classes classes(kSeed);
  for (std::uint64_t i = 0; i < kClassesMax; ++i) BOOST_TEST(classes.find_or_add(with_ignored(i)) == i);
  BOOST_TEST(classes.find_or_add(with_ignored(kClassesMax)) == kNone);
  BOOST_TEST(classes.count() == kClassesMax);
  BOOST_TEST(classes.find_or_add(with_ignored(0)) == 0U);
}

BOOST_AUTO_TEST_CASE(a_key_has_what_its_class_does_not_ignore) {
  Classes classes(kSeed);
  classes.find_or_add(with_ignored(0xf0));
  classes.find_or_add(with_ignored(0, kAnySource));
  BOOST_TEST((classes[0].key_of(3, 0xab) == Key{3, 0x0b}));
  BOOST_TEST((classes[1].key_of(3, 0xab) == Key{kAnySource, 0xab}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::match
