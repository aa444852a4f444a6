// wait_for_events: who sleeps where, who wakes whom, across queues and shards.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <vector>

#include "event/queue/wait.h"
#include "tests/event/fake_port.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace wait_test {

struct Fixture : ShardFixture {
  Fixture() { BOOST_REQUIRE(shard->start_engine().ok()); }

  std::shared_ptr<EventQueue> make_queue(int mode = EXS_WAIT_NOTIFY) {
    auto queue = std::make_shared<EventQueue>(1000, shard);
    queue->set_wait_mode(mode);
    return queue;
  }
  static void push(EventQueue& queue) {
    BOOST_REQUIRE(queue.reserve());
    queue.push({}, nullptr);
  }
};

// A thread that takes `min` events.
struct Taker {
  Taker(EventQueue& queue, std::size_t min)
      : thread([this, &queue, min] {
          std::vector<exs_event_t> events(min);
          const auto result = wait_for_events(queue, events.data(), min, min, WaitLimit::until(kNoDeadline));
          taken = result ? *result : 0;
          error = result ? 0 : result.error().error();
        }) {}
  std::size_t taken = 0;
  int error = 0;
  WaitingThread thread;
};

}  // namespace wait_test

BOOST_FIXTURE_TEST_SUITE(wait_test, Fixture)

BOOST_AUTO_TEST_CASE(a_sleeping_leader_is_woken_by_a_push_in_every_mode) {
  for (const int mode : {EXS_WAIT_NOTIFY, EXS_WAIT_ADAPTIVE}) {
    const auto queue = make_queue(mode);
    Taker taker(*queue, 1);
    taker.thread.await_sleep();
    push(*queue);
    taker.thread.join();
    BOOST_TEST(taker.taken == 1U);
  }
}

// What arrives may be a read that is served without any event: the next one finds the leader awake.
BOOST_AUTO_TEST_CASE(an_adaptive_leader_spins_after_an_arrival_that_brings_no_event) {
  const auto queue = make_queue(EXS_WAIT_ADAPTIVE);
  queue->set_spin_ns(0);
  Taker taker(*queue, 1);
  taker.thread.await_sleep();
  queue->set_spin_ns(kNoDeadline / 2);
  port.bring({});
  const int looks = port.looks;
  while (port.looks < looks + 1000) std::this_thread::yield();
  push(*queue);
  taker.thread.join();
  BOOST_TEST(taker.taken == 1U);
}

BOOST_AUTO_TEST_CASE(a_notified_leader_sleeps_again_after_an_arrival_that_brings_no_event) {
  const auto queue = make_queue(EXS_WAIT_NOTIFY);
  Taker taker(*queue, 1);
  taker.thread.await_sleep();
  const int looks = port.looks;
  port.bring({});
  while (port.looks == looks) std::this_thread::yield();
  taker.thread.await_sleep();
  push(*queue);
  taker.thread.join();
  BOOST_TEST(taker.taken == 1U);
}

BOOST_AUTO_TEST_CASE(leader_and_follower_of_one_queue_are_both_served) {
  const auto queue = make_queue();
  Taker first(*queue, 1);
  first.thread.await_sleep();
  Taker second(*queue, 1);
  second.thread.await_sleep();
  push(*queue);
  push(*queue);
  first.thread.join();
  second.thread.join();
  BOOST_TEST(first.taken + second.taken == 2U);
}

BOOST_AUTO_TEST_CASE(a_follower_goes_on_when_its_leader_has_left) {
  const auto led = make_queue();
  const auto followed = make_queue();
  Taker leader(*led, 1);
  leader.thread.await_sleep();
  Taker follower(*followed, 2);
  follower.thread.await_sleep();
  push(*led);
  leader.thread.join();
  push(*followed);
  push(*followed);
  follower.thread.join();
  BOOST_TEST(follower.taken == 2U);
}

BOOST_AUTO_TEST_CASE(threads_with_different_wishes_on_one_queue_are_all_served) {
  const auto leaders = make_queue();
  Taker leader(*leaders, 1);  // so that everyone else follows
  leader.thread.await_sleep();
  for (int round = 0; round < 50; ++round) {
    const auto queue = make_queue();
    Taker modest(*queue, 1);
    Taker greedy(*queue, 3);
    for (int i = 0; i < 4; ++i) push(*queue);
    modest.thread.join();
    greedy.thread.join();
    BOOST_TEST(modest.taken == 1U);
    BOOST_TEST(greedy.taken == 3U);
  }
  push(*leaders);
}

BOOST_AUTO_TEST_CASE(many_threads_take_every_event_once) {
  constexpr int kThreads = 4;
  constexpr int kEvents = 2000;
  for (const int mode : {EXS_WAIT_NOTIFY, EXS_WAIT_ADAPTIVE, EXS_WAIT_BUSY_POLL}) {
    const auto queue = make_queue(mode);
    std::atomic<int> taken{0};
    std::vector<std::thread> takers;
    for (int i = 0; i < kThreads; ++i) {
      takers.emplace_back([&] {
        exs_event_t event{};
        for (;;) {
          const auto result = wait_for_events(*queue, &event, 1, 1, WaitLimit::until(kNoDeadline));
          if (!result || event.exs_evt_type == EXS_EVT_CLOSE) return;
          ++taken;
        }
      });
    }
    for (int i = 0; i < kEvents; ++i) {
      while (!queue->reserve()) std::this_thread::yield();
      queue->push({}, nullptr);
    }
    exs_event_t end{};
    end.exs_evt_type = EXS_EVT_CLOSE;
    for (int i = 0; i < kThreads; ++i) {
      while (!queue->reserve()) std::this_thread::yield();
      queue->push(end, nullptr);
    }
    for (std::thread& taker : takers) taker.join();
    BOOST_TEST(taken == kEvents);
    BOOST_TEST(queue->reserved() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_queue_closed_by_force_ends_every_wait) {
  for (const int mode : {EXS_WAIT_NOTIFY, EXS_WAIT_BUSY_POLL}) {
    const auto queue = make_queue(mode);
    Taker first(*queue, 1);
    Taker second(*queue, 1);
    if (mode == EXS_WAIT_NOTIFY) {
      first.thread.await_sleep();
      second.thread.await_sleep();
    }
    BOOST_TEST(queue->close(true).ok());
    first.thread.join();
    second.thread.join();
    BOOST_TEST(errno_name(first.error) == "EBADF");
    BOOST_TEST(errno_name(second.error) == "EBADF");
  }
}

BOOST_AUTO_TEST_CASE(a_wait_of_no_time_looks_at_the_network_once) {
  const auto queue = make_queue();
  exs_event_t event{};
  shard->stop_engine();
  const int before = port.looks;
  const auto result = wait_for_events(*queue, &event, 1, 1, WaitLimit::lasting(0));
  BOOST_TEST((result && *result == 0));
  BOOST_TEST(port.looks == before + 1);
}

// No thread but this one brings what has arrived there.
BOOST_AUTO_TEST_CASE(a_wait_drives_the_shards_on_which_operations_name_its_queue) {
  struct Client final : CompletionClient {
    explicit Client(EventQueue& of_wait) : queue(of_wait) {}
    void complete(const Completion&) override { push(queue); }
    EventQueue& queue;
  };
  for (const int mode : {EXS_WAIT_NOTIFY, EXS_WAIT_ADAPTIVE, EXS_WAIT_BUSY_POLL}) {
    const auto queue = make_queue(mode);
    const auto client = std::make_shared<Client>(*queue);
    const auto far = std::move(*Shard::create(shard->providers()));
    FakePort& far_port = *provider.port;
    Completion arrival{};
    far->carry_out([&] {
      far->assert_held();
      arrival.link = far->attach(client);
    });
    const auto events_of_wait = [&] {
      exs_event_t event{};
      far_port.bring(arrival);
      const auto taken = wait_for_events(*queue, &event, 1, 1, WaitLimit::lasting(0));
      return taken ? *taken : 99;
    };
    BOOST_TEST(events_of_wait() == 0U);
    BOOST_REQUIRE(queue->far_shards().enter(far));
    BOOST_REQUIRE(queue->far_shards().enter(far));
    BOOST_TEST(events_of_wait() == 1U);
    queue->far_shards().leave(*far);
    BOOST_TEST(events_of_wait() == 1U);  // one user is left; two arrivals had come
    queue->far_shards().leave(*far);
    while (queue->take(std::array<exs_event_t, 1>().data(), 1, 1) == 1) continue;
    BOOST_TEST(events_of_wait() == 0U);
    far->carry_out([&] {
      far->assert_held();
      far->detach(arrival.link);
    });
  }
}

// A descriptor that only a look at everything reports, such as the end of a peer, waits no longer for a busy connection.
BOOST_AUTO_TEST_CASE(a_queue_that_always_has_events_is_looked_past) {
  shard.reset();
  shard = std::move(*Shard::create(providers_of(provider)));  // without an engine thread
  FakePort& busy = *provider.port;
  const auto queue = make_queue(EXS_WAIT_ADAPTIVE);
  busy.on_news = [] {};
  busy.bring({});
  drive();  // the port has shown something, so brief looks are at it
  const auto take = [&] {
    exs_event_t event{};
    if (take_at_once(*queue, &event, 1) == 1) return;
    const auto taken = wait_for_events(*queue, &event, 1, 1, WaitLimit::until(kNoDeadline));
    BOOST_REQUIRE((taken && *taken == 1));
  };
  const auto looks_of_100_takes = [&](bool are_waiting) {
    const int before = busy.looks;
    for (int i = 0; i < 100; ++i) {
      if (are_waiting) push(*queue);
      take();
    }
    return busy.looks - before;
  };
  BOOST_TEST(looks_of_100_takes(true) >= 5);
  busy.on_news = [&] { push(*queue); };
  BOOST_TEST(looks_of_100_takes(false) >= 5);
}

BOOST_AUTO_TEST_CASE(a_wait_whose_time_is_over_gives_what_is_there) {
  const auto queue = make_queue();
  push(*queue);
  exs_event_t events[3];
  const auto result = wait_for_events(*queue, events, 3, 3, WaitLimit::lasting(1000));
  BOOST_TEST((result && *result == 1));
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_while_ends_though_arrivals_wake_it_again_and_again) {
  const auto queue = make_queue();
  std::atomic<bool> over{false};
  std::size_t taken = 1;
  std::thread waiter([&] {
    exs_event_t event{};
    const auto result = wait_for_events(*queue, &event, 1, 1, WaitLimit::lasting(2'000'000));
    if (result) taken = *result;
    over = true;
  });
  while (!over) {
    port.bring({});
    std::this_thread::yield();
  }
  waiter.join();
  BOOST_TEST(taken == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
