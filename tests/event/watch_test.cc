// Watch: what threads share about who sleeps.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "event/engine/watch.h"

namespace exs::test {
namespace watch_test {

struct WatchFixture {
  // How often it was written since it was read last.
  [[nodiscard]] std::uint64_t writes() const {
    std::uint64_t count = 0;
    return ::read(watch.wake_fd(), &count, sizeof count) < 0 ? 0 : count;
  }
  [[nodiscard]] bool is_readable() const {
    pollfd watched{watch.wake_fd(), POLLIN, 0};
    return ::poll(&watched, 1, 0) == 1;
  }

  Watch watch{UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
};

}  // namespace watch_test

BOOST_FIXTURE_TEST_SUITE(watch_test, WatchFixture)

BOOST_AUTO_TEST_CASE(a_leader_is_woken_by_one_write_a_sleep) {
  for (int i = 0; i < 3; ++i) watch.wake_leader();
  BOOST_TEST(writes() == 1U);
}

BOOST_AUTO_TEST_CASE(each_sleep_can_be_ended) {
  for (int i = 0; i < 3; ++i) {
    watch.wake_leader();
    BOOST_TEST(is_readable());
    watch.clear_wake();
    BOOST_TEST(!is_readable());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
