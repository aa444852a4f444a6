// TimerQueue: deadlines, soonest first.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <functional>
#include <vector>

#include "event/engine/timer_queue.h"

namespace exs::test {
namespace timer_queue_test {

struct Client : TimerClient {
  void timer_fired(std::uint64_t now_ns) override {
    fired.push_back(now_ns);
    if (then) then();
  }
  std::vector<std::uint64_t> fired;
  std::function<void()> then;
};

}  // namespace timer_queue_test

BOOST_AUTO_TEST_SUITE(timer_queue_test)

BOOST_AUTO_TEST_CASE(an_empty_queue_has_no_deadline) {
  TimerQueue timers;
  BOOST_TEST(timers.next_deadline_ns() == kNoDeadline);
  timers.fire(kNoDeadline - 1);
}

BOOST_AUTO_TEST_CASE(timers_fire_when_due_and_not_before) {
  TimerQueue timers;
  const auto early = std::make_shared<Client>();
  const auto late = std::make_shared<Client>();
  timers.arm(200, late);
  timers.arm(100, early);
  BOOST_TEST(timers.next_deadline_ns() == 100U);
  timers.fire(99);
  BOOST_TEST(early->fired.empty());
  timers.fire(100);
  BOOST_TEST(early->fired == std::vector<std::uint64_t>{100}, boost::test_tools::per_element());
  BOOST_TEST(late->fired.empty());
  BOOST_TEST(timers.next_deadline_ns() == 200U);
  timers.fire(1000);
  BOOST_TEST(late->fired == std::vector<std::uint64_t>{1000}, boost::test_tools::per_element());
  BOOST_TEST(early->fired.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_deadline_its_client_gave_up_wakes_no_one) {
  struct Fickle final : Client {
    bool still_wants(std::uint64_t /*deadline_ns*/) const override { return wants; }
    bool wants = true;
  };
  TimerQueue timers;
  const auto fickle = std::make_shared<Fickle>();
  timers.arm(100, fickle);
  fickle->wants = false;
  BOOST_TEST(timers.next_deadline_ns() == kNoDeadline);
  timers.fire(100);
  BOOST_TEST(fickle->fired.empty());
}

BOOST_AUTO_TEST_CASE(a_client_that_died_is_passed_over) {
  TimerQueue timers;
  auto dead = std::make_shared<Client>();
  const auto alive = std::make_shared<Client>();
  timers.arm(100, dead);
  timers.arm(100, alive);
  dead.reset();
  timers.fire(100);
  BOOST_TEST(alive->fired.size() == 1U);
  BOOST_TEST(timers.next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(a_timer_may_arm_another_one_while_it_fires) {
  TimerQueue timers;
  const auto client = std::make_shared<Client>();
  client->then = [&] {
    if (client->fired.size() < 3) timers.arm(client->fired.back() + 10, client);
  };
  timers.arm(100, client);
  timers.fire(100);
  BOOST_TEST(client->fired.size() == 1U);
  timers.fire(115);
  BOOST_TEST(client->fired.size() == 2U);
  timers.fire(500);
  BOOST_TEST(client->fired.size() == 3U);
}

BOOST_AUTO_TEST_CASE(clear_forgets_every_timer) {
  TimerQueue timers;
  const auto client = std::make_shared<Client>();
  timers.arm(1, client);
  timers.clear();
  timers.fire(100);
  BOOST_TEST(client->fired.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
