// EventQueue: slots, events, sleepers.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <fcntl.h>

#include <memory>
#include <vector>

#include "event/queue/callers_events.h"
#include "event/queue/event_queue.h"
#include "tests/event/fake_port.h"

namespace exs::test {
namespace event_queue_test {

bool readable(int descriptor) {
  pollfd watched{descriptor, POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

struct Fixture : ShardFixture {
  std::shared_ptr<EventQueue> queue = std::make_shared<EventQueue>(4, shard);
  exs_event_t out[8] = {};

  void push(int type = EXS_EVT_USER) {
    exs_event_t event{};
    event.exs_evt_type = type;
    queue->push(event, nullptr);
  }
  void reserve(int slots) {
    for (int i = 0; i < slots; ++i) BOOST_REQUIRE(queue->reserve());
  }
};

}  // namespace event_queue_test

BOOST_FIXTURE_TEST_SUITE(event_queue_test, Fixture)

BOOST_AUTO_TEST_CASE(a_slot_is_taken_from_reservation_to_take) {
  reserve(4);
  BOOST_TEST(!queue->reserve());
  push();
  BOOST_TEST(!queue->reserve());
  BOOST_TEST(queue->events() == 1U);
  BOOST_TEST(queue->reserved() == 4U);
  BOOST_TEST(queue->take(out, 1, 8) == 1U);
  BOOST_TEST(queue->reserve());
  queue->cancel_reservation();
  BOOST_TEST(queue->reserved() == 3U);
}

BOOST_AUTO_TEST_CASE(take_keeps_order_and_respects_both_limits) {
  reserve(4);
  for (const int type : {1, 2, 3}) push(type);
  BOOST_TEST(queue->take(out, 4, 8) == 0U);
  BOOST_TEST(queue->take(out, 2, 2) == 2U);
  BOOST_TEST(out[0].exs_evt_type == 1);
  BOOST_TEST(out[1].exs_evt_type == 2);
  BOOST_TEST(queue->take(out, 1, 8) == 1U);
  BOOST_TEST(out[0].exs_evt_type == 3);
  BOOST_TEST(queue->take(out, 0, 8) == 0U);
}

BOOST_AUTO_TEST_CASE(depth_follows_the_slots_taken) {
  reserve(3);
  BOOST_TEST((queue->set_depth(2) == Status(EBUSY)));
  BOOST_TEST(queue->set_depth(3).ok());
  BOOST_TEST(!queue->reserve());
  BOOST_TEST(queue->set_depth(4).ok());
  BOOST_TEST(queue->reserve());
}

BOOST_AUTO_TEST_CASE(an_event_holds_its_descriptor_number) {
  auto number = KernelDescriptor::own(UniqueFd(::eventfd(0, EFD_CLOEXEC)));
  const int descriptor = number->number();
  reserve(1);
  queue->push({}, number);
  number.reset();
  BOOST_TEST(::fcntl(descriptor, F_GETFD) >= 0);
  BOOST_TEST(queue->take(out, 1, 1) == 1U);
  BOOST_TEST(::fcntl(descriptor, F_GETFD) == -1);
}

BOOST_AUTO_TEST_CASE(events_in_many_queues_hold_a_descriptor_number_until_the_last) {
  constexpr std::size_t kQueues = 4;
  auto number = KernelDescriptor::own(UniqueFd(::eventfd(0, EFD_CLOEXEC)));
  const int descriptor = number->number();
  std::vector<std::shared_ptr<EventQueue>> queues;
  for (std::size_t i = 0; i < kQueues; ++i) {
    queues.push_back(std::make_shared<EventQueue>(4, shard));
    for (int event = 0; event < 2; ++event) {
      BOOST_REQUIRE(queues.back()->reserve());
      queues.back()->push_made([](exs_event_t& made) { made = {}; }, number);
    }
  }
  BOOST_TEST(queues[3]->take(out, 1, 1) == 1U);
  number.reset();
  // One queue goes with its events, another one drops them, the others are emptied.
  queues[0].reset();
  BOOST_TEST(queues[1]->close(true).ok());
  BOOST_TEST(queues[2]->take(out, 2, 2) == 2U);
  BOOST_TEST(::fcntl(descriptor, F_GETFD) >= 0);
  BOOST_TEST(queues[3]->take(out, 1, 1) == 1U);
  BOOST_TEST(::fcntl(descriptor, F_GETFD) == -1);
}

BOOST_AUTO_TEST_CASE(a_number_has_room_for_a_queue_again_once_another_one_has_gone) {
  auto number = KernelDescriptor::own(UniqueFd(::eventfd(0, EFD_CLOEXEC)));
  for (int i = 0; i < 10; ++i) {
    const auto other = std::make_shared<EventQueue>(1, shard);
    BOOST_REQUIRE(other->reserve());
    other->push_made([](exs_event_t& made) { made = {}; }, number);
    BOOST_TEST(other->take(out, 1, 1) == 1U);
  }
  const int descriptor = number->number();
  number.reset();
  BOOST_TEST(::fcntl(descriptor, F_GETFD) == -1);
}

BOOST_AUTO_TEST_CASE(an_event_that_comes_at_once_takes_a_slot_if_one_is_free) {
  const auto number = KernelDescriptor::own(UniqueFd());
  int acts = 0;
  const auto act = [&] { return ++acts, true; };
  const auto make = [](exs_event_t& event) { event = {}; };
  reserve(1);
  queue->cancel_reservation();  // room without memory
  BOOST_TEST(queue->push_at_once(act, make, number));
  BOOST_TEST(acts == 1);
  BOOST_TEST(!queue->push_at_once([] { return false; }, make, number));
  BOOST_TEST(queue->reserved() == 1U);
  BOOST_REQUIRE(queue->set_depth(1).ok());
  BOOST_TEST(!queue->push_at_once(act, make, number));
  BOOST_TEST(!queue->do_if_free(act));
  BOOST_TEST(!queue->reserve_at_once());
  BOOST_TEST(acts == 1);
  BOOST_TEST(queue->take(out, 1, 1) == 1U);
  BOOST_TEST(queue->do_if_free(act));
  BOOST_TEST(queue->reserve_at_once());
  queue->took_directly(1);
  BOOST_TEST(queue->reserved() == 0U);
}

BOOST_AUTO_TEST_CASE(what_waits_comes_before_what_goes_straight_to_the_caller) {
  const EventQueue other(1, shard);
  CallersEvents caller{queue.get(), out, 2};
  BOOST_TEST(caller.place_for(*queue) == &out[0]);
  BOOST_TEST(caller.place_for(other) == nullptr);
  reserve(1);
  push();
  BOOST_TEST(caller.place_for(*queue) == nullptr);
  BOOST_TEST(queue->take(out + 1, 1, 1) == 1U);
  BOOST_TEST(!caller.is_full);
  BOOST_TEST(caller.place_for(*queue) == &out[1]);
  BOOST_TEST(caller.is_full);
  BOOST_TEST(caller.place_for(*queue) == nullptr);
}

BOOST_AUTO_TEST_CASE(the_ready_descriptor_follows_the_events) {
  reserve(4);
  push();
  const int descriptor = *queue->ready_fd();
  BOOST_TEST(*queue->ready_fd() == descriptor);
  BOOST_TEST(readable(descriptor));
  push();
  BOOST_TEST(queue->take(out, 1, 1) == 1U);
  BOOST_TEST(readable(descriptor));
  BOOST_TEST(queue->take(out, 1, 1) == 1U);
  BOOST_TEST(!readable(descriptor));
  push();
  BOOST_TEST(readable(descriptor));
}

BOOST_AUTO_TEST_CASE(the_ready_descriptor_leaves_events_to_a_thread_that_takes_them) {
  reserve(4);
  const int descriptor = *queue->ready_fd();
  {
    const EventQueue::TakeScope taking(*queue, 1);
    push();
    push();
    BOOST_TEST(!readable(descriptor));
    BOOST_TEST(queue->take(out, 1, 1) == 1U);
    BOOST_TEST(!readable(descriptor));
  }
  BOOST_TEST(readable(descriptor));  // it has left one
  BOOST_TEST(queue->take(out, 1, 1) == 1U);
  BOOST_TEST(!readable(descriptor));
  const EventQueue::TakeScope taking(*queue, 2);  // may leave one for long
  push();
  BOOST_TEST(readable(descriptor));
}

BOOST_AUTO_TEST_CASE(nobody_goes_to_sleep_when_enough_is_there) {
  reserve(2);
  push();
  BOOST_TEST(!queue->sleep_as_follower(1));
  BOOST_TEST(!queue->sleep_as_leader(1));
  BOOST_TEST(queue->sleep_as_leader(2));
  queue->awake_as_leader();
}

BOOST_AUTO_TEST_CASE(a_follower_is_woken_when_its_wish_is_met_and_not_before) {
  reserve(3);
  BOOST_TEST(queue->sleep_as_follower(2));
  push();
  BOOST_TEST(!readable(queue->follower_fd()));
  push();
  BOOST_TEST(readable(queue->follower_fd()));
  queue->awake_as_follower(2);
}

BOOST_AUTO_TEST_CASE(a_wake_up_of_the_past_does_not_wake_the_next_sleeper) {
  reserve(1);
  BOOST_TEST(queue->sleep_as_follower(1));
  push();
  queue->awake_as_follower(1);
  BOOST_TEST(queue->take(out, 1, 1) == 1U);
  BOOST_TEST(queue->sleep_as_follower(1));
  BOOST_TEST(!readable(queue->follower_fd()));
  queue->awake_as_follower(1);
}

BOOST_AUTO_TEST_CASE(a_modest_follower_is_woken_although_a_greedy_one_goes_to_sleep) {
  reserve(2);
  BOOST_TEST(queue->sleep_as_follower(1));
  push();
  BOOST_TEST(queue->sleep_as_follower(5));  // before the first one has come round to look
  BOOST_TEST(readable(queue->follower_fd()));
  queue->awake_as_follower(1);
  queue->awake_as_follower(5);
}

BOOST_AUTO_TEST_CASE(the_wish_of_a_follower_that_left_wakes_nobody) {
  reserve(2);
  BOOST_TEST(queue->sleep_as_follower(1));
  BOOST_TEST(queue->sleep_as_follower(3));
  queue->awake_as_follower(1);
  push();
  BOOST_TEST(!readable(queue->follower_fd()));
  queue->awake_as_follower(3);
}

BOOST_AUTO_TEST_CASE(close_is_refused_while_anything_is_under_way) {
  reserve(2);
  push();
  BOOST_TEST((queue->close(false) == Status(EBUSY)));
  queue->cancel_reservation();
  {
    const EventQueue::WaitScope scope(*queue);
    BOOST_TEST((queue->close(false) == Status(EBUSY)));
    BOOST_TEST(!queue->closed());
  }
  BOOST_TEST(queue->close(false).ok());
  BOOST_TEST(queue->closed());
  BOOST_TEST(queue->events() == 0U);
  BOOST_TEST(!queue->reserve());
}

BOOST_AUTO_TEST_CASE(a_forced_close_wakes_who_sleeps) {
  BOOST_TEST(queue->sleep_as_follower(1));
  BOOST_TEST(queue->close(true).ok());
  BOOST_TEST(readable(queue->follower_fd()));
  queue->awake_as_follower(1);
  BOOST_TEST(!queue->sleep_as_follower(1));
  BOOST_TEST(!queue->sleep_as_leader(1));
}

BOOST_AUTO_TEST_CASE(an_event_may_be_pushed_after_a_forced_close) {
  reserve(2);
  push();
  BOOST_TEST(queue->close(true).ok());
  BOOST_TEST(queue->reserved() == 1U);
  push();
  BOOST_TEST(queue->reserved() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
