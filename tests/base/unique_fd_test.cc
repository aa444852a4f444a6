// A UniqueFd closes its descriptor once, or hands it on.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/unique_fd.h"

#include <fcntl.h>

#include <utility>

#include <boost/test/unit_test.hpp>

using exs::UniqueFd;

namespace unique_fd_test {

int opened() {
  const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  BOOST_REQUIRE(descriptor >= 0);
  return descriptor;
}
bool is_open(int descriptor) {
  return ::fcntl(descriptor, F_GETFD) >= 0;
}

}  // namespace unique_fd_test

BOOST_AUTO_TEST_SUITE(unique_fd_test)

BOOST_AUTO_TEST_CASE(an_owner_closes_its_descriptor_at_its_end) {
  const int descriptor = opened();
  {
    const UniqueFd owner(descriptor);
    BOOST_TEST(owner.valid());
    BOOST_TEST(owner.get() == descriptor);
    BOOST_TEST(is_open(descriptor));
  }
  BOOST_TEST(!is_open(descriptor));
}

BOOST_AUTO_TEST_CASE(an_owner_without_a_descriptor_closes_none) {
  UniqueFd none;
  BOOST_TEST(!none.valid());
  BOOST_TEST(none.get() == -1);
  none.reset();
  BOOST_TEST(UniqueFd(0).valid());
  // 0 was closed above, as any other number: it comes back as this one.
  BOOST_TEST(::open("/dev/null", O_RDONLY | O_CLOEXEC) == 0);
}

BOOST_AUTO_TEST_CASE(a_move_hands_the_descriptor_over) {
  const int descriptor = opened();
  UniqueFd first(descriptor);
  UniqueFd second(std::move(first));
  BOOST_TEST(!first.valid());  // NOLINT(bugprone-use-after-move): that is the promise
  BOOST_TEST(second.get() == descriptor);
  const int other = opened();
  first = UniqueFd(other);
  second = std::move(first);
  BOOST_TEST(!is_open(descriptor));
  BOOST_TEST(second.get() == other);
  BOOST_TEST(is_open(other));
  UniqueFd& same = second;
  second = std::move(same);
  BOOST_TEST(second.get() == other);
  BOOST_TEST(is_open(other));
}

BOOST_AUTO_TEST_CASE(what_was_released_stays_open) {
  UniqueFd owner(opened());
  const int descriptor = owner.release();
  BOOST_TEST(!owner.valid());
  BOOST_TEST(is_open(descriptor));
  owner = UniqueFd(descriptor);
  owner.reset();
  BOOST_TEST(!is_open(descriptor));
  BOOST_TEST(!owner.valid());
}

BOOST_AUTO_TEST_SUITE_END()
