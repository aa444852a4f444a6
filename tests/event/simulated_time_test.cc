// The time of a simulation: sleeps of one thread are over at once, and several threads sleep as long as they would.
// SPDX-License-Identifier: BSD-2-Clause
#include "event/engine/simulated_time.h"

#include <boost/test/unit_test.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/clock.h"
#include "base/unique_fd.h"

using namespace exs;

namespace simulated_time_test {

struct Bed {
  VirtualClock clock;
  bool interrupts = false;
  SimulatedTime time{clock, [this] { return interrupts; }};

  // Returns how much of the sleep is left, or UINT64_MAX after an error. Any thread may call it, and none but the first may check.
  std::uint64_t sleep(std::uint64_t ns) {
    std::uint64_t left_ns = ns;
    const auto woken = time.sleep({}, left_ns, nullptr);
    return woken ? left_ns : UINT64_MAX;
  }
};

}  // namespace simulated_time_test

BOOST_FIXTURE_TEST_SUITE(simulated_time_test, Bed)

BOOST_AUTO_TEST_CASE(a_sleep_of_the_only_thread_moves_the_clock_and_takes_no_time) {
  const std::uint64_t before_ns = clock.now_ns();
  BOOST_TEST(sleep(3600 * kNsPerSecond) == 0U);
  BOOST_TEST(clock.now_ns() == before_ns + 3600 * kNsPerSecond);
}

BOOST_AUTO_TEST_CASE(a_look_at_the_clock_moves_it_by_a_tick) {
  clock.restart(7);
  const TimeSource source = time.source();
  const std::uint64_t first_ns = source.clock.now_ns();
  BOOST_TEST(source.clock.now_ns() == first_ns + 7);
  BOOST_TEST(source.is_simulated);
}

BOOST_AUTO_TEST_CASE(a_descriptor_that_is_ready_ends_a_sleep_before_time_passes) {
  const UniqueFd event(::eventfd(1, EFD_CLOEXEC));
  pollfd watched{event.get(), POLLIN, 0};
  std::uint64_t left_ns = kNsPerSecond;
  const std::uint64_t before_ns = clock.now_ns();
  BOOST_TEST(time.sleep({&watched, 1}, left_ns, nullptr).value_or(0) == 1);
  BOOST_TEST(left_ns == kNsPerSecond);
  BOOST_TEST(clock.now_ns() == before_ns);
  BOOST_TEST((watched.revents & POLLIN) != 0);
}

BOOST_AUTO_TEST_CASE(a_sleep_ends_as_if_by_a_signal_where_the_simulation_wants_it) {
  interrupts = true;
  std::uint64_t left_ns = kNsPerSecond;
  BOOST_TEST(time.sleep({}, left_ns, nullptr).error().error() == EINTR);
  BOOST_TEST(left_ns == kNsPerSecond);
}

BOOST_AUTO_TEST_CASE(an_alarm_goes_off_at_its_time) {
  auto alarm = time.make_alarm();
  BOOST_REQUIRE(alarm.has_value());
  (*alarm)->set(5'000);
  pollfd watched{(*alarm)->descriptor(), POLLIN, 0};
  std::uint64_t left_ns = kNsPerSecond;
  const std::uint64_t before_ns = clock.now_ns();
  BOOST_TEST(time.sleep({&watched, 1}, left_ns, nullptr).value_or(0) == 1);
  BOOST_TEST(clock.now_ns() == before_ns + 5'000);
}

// As an alarm of an engine that was never started.
BOOST_AUTO_TEST_CASE(an_alarm_of_nobody_holds_no_sleep_up) {
  auto alarm = time.make_alarm();
  BOOST_REQUIRE(alarm.has_value());
  (*alarm)->set(5'000);
  const std::uint64_t before_ns = clock.now_ns();
  BOOST_TEST(sleep(kNsPerSecond) == 0U);
  BOOST_TEST(clock.now_ns() == before_ns + kNsPerSecond);
}

BOOST_AUTO_TEST_CASE(two_threads_sleep_in_the_order_of_their_times) {
  constexpr int kRounds = 50;
  sleep(1);  // this thread takes part
  const std::uint64_t before_ns = clock.now_ns();
  std::uint64_t left_ns = 0;
  std::uint64_t others_left_ns = 0;
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) others_left_ns |= sleep(30'000);
  });
  for (int i = 0; i < kRounds; ++i) left_ns |= sleep(20'000);
  other.join();
  BOOST_TEST(left_ns == 0U);
  BOOST_TEST(others_left_ns == 0U);
  BOOST_TEST(clock.now_ns() >= before_ns + kRounds * 20'000);
  BOOST_TEST(clock.now_ns() <= before_ns + kRounds * 50'000);
}

// It may sleep where the library does not see it.
BOOST_AUTO_TEST_CASE(a_thread_that_stays_away_holds_nobody_up_for_ever) {
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  sleep(1);
  std::uint64_t left_ns = UINT64_MAX;
  ssize_t written = 0;
  std::thread other([&] {
    left_ns = sleep(1'000);
    const std::uint64_t one = 1;
    written = ::write(event.get(), &one, sizeof one);
  });
  std::uint64_t count = 0;
  BOOST_TEST(::read(event.get(), &count, sizeof count) == static_cast<ssize_t>(sizeof count));
  other.join();
  BOOST_TEST(left_ns == 0U);
  BOOST_TEST(written == static_cast<ssize_t>(sizeof(std::uint64_t)));
}

BOOST_AUTO_TEST_SUITE_END()
