// Shard: posting and combining, clients, timers, leaders and followers.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "event/queue/wait.h"
#include "tests/event/fake_port.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace shard_test {

struct Client : CompletionClient {
  void complete(const Completion& completion) override {
    tokens.push_back(completion.token);
    if (then) then();
  }
  std::vector<std::uint64_t> tokens;
  std::function<void()> then;
};

struct Timer : TimerClient {
  void timer_fired(std::uint64_t) override { ++fired; }
  int fired = 0;
};

Completion completion_for(std::uint64_t link, std::uint64_t token) {
  Completion completion;
  completion.link = link;
  completion.token = token;
  return completion;
}

struct Fixture : ShardFixture {
  std::shared_ptr<Client> client = std::make_shared<Client>();
  std::uint64_t attached() {
    std::uint64_t token = 0;
    execute([&](Shard& owner) { token = owner.attach(client); });
    return token;
  }
};

}  // namespace shard_test

BOOST_FIXTURE_TEST_SUITE(shard_test, Fixture)

BOOST_AUTO_TEST_CASE(a_task_runs_on_its_poster_when_the_lock_is_free) {
  std::thread::id ran_on;
  execute([&](Shard&) { ran_on = std::this_thread::get_id(); });
  BOOST_TEST((ran_on == std::this_thread::get_id()));
  BOOST_TEST(port.flushes >= 1);
  BOOST_TEST(port.looks == 0);  // posting does not look at the network
}

BOOST_AUTO_TEST_CASE(a_task_posted_from_a_task_runs_before_the_poster_is_back) {
  std::vector<int> order;
  execute([&](Shard&) {
    execute([&](Shard&) { order.push_back(2); });
    order.push_back(1);
  });
  BOOST_TEST(order == (std::vector<int>{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_task_posted_while_the_lock_is_taken_is_run_by_its_holder) {
  std::latch holding(1);
  std::latch posted(1);
  std::thread::id ran_on;
  std::thread holder([&] {
    execute([&](Shard&) {
      holding.count_down();
      posted.wait();
    });
  });
  holding.wait();
  execute([&](Shard&) { ran_on = std::this_thread::get_id(); });
  BOOST_TEST((ran_on == std::thread::id()));  // the poster did not wait
  const std::thread::id holder_id = holder.get_id();
  posted.count_down();
  holder.join();
  BOOST_TEST((ran_on == holder_id));
}

BOOST_AUTO_TEST_CASE(a_task_posted_while_somebody_only_looks_is_run_as_well) {
  bool ran = false;
  shard->inspect([&] {
    std::thread poster([&] { execute([&](Shard&) { ran = true; }); });
    poster.join();
    BOOST_TEST(!ran);
  });
  BOOST_TEST(ran);
}

BOOST_AUTO_TEST_CASE(no_task_of_many_threads_is_stranded) {
  constexpr int kThreads = 4;
  constexpr int kEach = 3000;
  int ran = 0;  // guarded by the drive lock
  std::vector<std::thread> posters;
  for (int i = 0; i < kThreads; ++i) {
    posters.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) execute([&](Shard&) { ++ran; });
    });
  }
  for (std::thread& poster : posters) poster.join();
  BOOST_TEST(ran == kThreads * kEach);
}

BOOST_AUTO_TEST_CASE(completions_go_to_the_client_of_their_token_until_it_detaches) {
  const std::uint64_t token = attached();
  port.bring(completion_for(token, 1));
  port.bring(completion_for(token + 1, 2));
  drive();
  port.bring(completion_for(token, 3));
  drive();
  BOOST_TEST(client->tokens == (std::vector<std::uint64_t>{1, 3}), boost::test_tools::per_element());
  execute([&](Shard& owner) { owner.detach(token); });
  port.bring(completion_for(token, 4));
  drive();
  BOOST_TEST(client->tokens.size() == 2U);
}

BOOST_AUTO_TEST_CASE(tokens_are_never_given_twice) {
  const std::uint64_t first = attached();
  execute([&](Shard& owner) { owner.detach(first); });
  BOOST_TEST(attached() != first);
}

BOOST_AUTO_TEST_CASE(a_client_may_detach_itself_in_the_middle_of_a_batch) {
  const std::uint64_t token = attached();
  client->then = [&] { shard->detach(token); };
  const std::weak_ptr<Client> witness = client;
  client.reset();
  for (int i = 0; i < 3; ++i) port.bring(completion_for(token, 1));
  drive();
  BOOST_TEST(witness.expired());
}

BOOST_AUTO_TEST_CASE(a_shard_that_dies_lets_go_of_its_clients) {
  attached();
  const std::weak_ptr<Client> witness = client;
  client.reset();
  BOOST_TEST(!witness.expired());
  shard.reset();
  BOOST_TEST(witness.expired());
}

BOOST_AUTO_TEST_CASE(due_timers_fire_when_somebody_drives) {
  const auto due = std::make_shared<Timer>();
  const auto later = std::make_shared<Timer>();
  execute([&](Shard& owner) {
    owner.arm_timer(1, due);
    owner.arm_timer(kNoDeadline - 1, later);
  });
  BOOST_TEST(due->fired == 0);
  drive();
  drive();
  BOOST_TEST(due->fired == 1);
  BOOST_TEST(later->fired == 0);
}

BOOST_AUTO_TEST_CASE(a_waiter_does_not_drive_while_another_thread_does) {
  int looks = -1;
  execute([&](Shard&) {
    std::thread waiter([&] { drive(); });
    waiter.join();
    looks = port.looks;
  });
  BOOST_TEST(looks == 0);
}

BOOST_AUTO_TEST_CASE(one_thread_leads_and_others_follow_while_it_does) {
  BOOST_TEST(!shard->start_following());
  BOOST_TEST(shard->try_lead());
  BOOST_TEST(!shard->try_lead());
  BOOST_TEST(shard->start_following());
  shard->stop_following();
  shard->stop_leading();
  BOOST_TEST(!shard->start_following());
  BOOST_TEST(shard->try_lead());
  shard->stop_leading();
}

BOOST_AUTO_TEST_CASE(a_leader_is_woken_by_the_network_by_a_call_and_by_its_limit) {
  ReadyPorts ready;
  WaitLimit never = WaitLimit::until(kNoDeadline);
  sigset_t none;
  sigemptyset(&none);
  BOOST_REQUIRE(shard->try_lead());
  WaitLimit over = WaitLimit::until(1);
  BOOST_TEST(shard->sleep_as_leader(over, &none, ready).ok());  // long over
  shard->wake_leader();
  BOOST_TEST(shard->sleep_as_leader(never, &none, ready).ok());
  port.bring({});
  BOOST_TEST(shard->sleep_as_leader(never, &none, ready).ok());
  drive();
  shard->stop_leading();
}

BOOST_AUTO_TEST_CASE(a_leader_learns_what_rang_and_takes_it_in_by_polling_memory) {
  const std::uint64_t token = attached();
  port.rings_for_messages = true;
  ReadyPorts ready;
  WaitLimit never = WaitLimit::until(kNoDeadline);
  BOOST_REQUIRE(shard->try_lead());
  port.bring(completion_for(token, 7));
  BOOST_TEST(shard->sleep_as_leader(never, nullptr, ready).ok());
  BOOST_TEST(ready.count() == 1U);
  BOOST_TEST(shard->poll_memory(true, ready));
  BOOST_TEST((client->tokens == std::vector<std::uint64_t>{7}));
  BOOST_TEST(port.looks == 0);
  shard->stop_leading();
}

BOOST_AUTO_TEST_CASE(polling_memory_is_not_enough_when_something_else_rang) {
  ReadyPorts ready;
  WaitLimit never = WaitLimit::until(kNoDeadline);
  BOOST_REQUIRE(shard->try_lead());
  port.bring({});
  BOOST_TEST(shard->sleep_as_leader(never, nullptr, ready).ok());
  BOOST_TEST(!shard->poll_memory(true, ready));
  // Nothing but the time ended this sleep, and then all want a look.
  drive();
  WaitLimit over = WaitLimit::until(1);
  BOOST_TEST(shard->sleep_as_leader(over, nullptr, ready).ok());
  BOOST_TEST(!shard->poll_memory(true, ready));
  shard->stop_leading();
}

// A port may have work that memory does not show, and its descriptor is not heard while it keeps threads from
// sleeping.
BOOST_AUTO_TEST_CASE(a_leader_that_may_not_sleep_or_is_overdue_looks_everywhere) {
  ReadyPorts ready;
  WaitLimit never = WaitLimit::until(kNoDeadline);
  BOOST_REQUIRE(shard->try_lead());
  port.quiet = false;
  BOOST_TEST(shard->sleep_as_leader(never, nullptr, ready).ok());
  BOOST_TEST(ready.all());
  port.quiet = true;
  port.deadline_ns = 1;
  port.bring({});
  BOOST_TEST(shard->sleep_as_leader(never, nullptr, ready).ok());
  BOOST_TEST(ready.all());
  shard->stop_leading();
}

BOOST_AUTO_TEST_CASE(after_a_few_polls_of_memory_everything_is_due) {
  int polls = 0;
  while (shard->poll_memory(true, ReadyPorts())) ++polls;
  BOOST_TEST(polls > 0);
  BOOST_TEST(port.looks == 0);
  drive();
  BOOST_TEST(shard->poll_memory(true, ReadyPorts()));
}

BOOST_AUTO_TEST_CASE(a_leader_sleeps_no_longer_than_timers_and_port_allow) {
  ReadyPorts ready;
  WaitLimit never = WaitLimit::until(kNoDeadline);
  sigset_t none;
  sigemptyset(&none);
  const auto timer = std::make_shared<Timer>();
  execute([&](Shard& owner) { owner.arm_timer(1, timer); });
  BOOST_REQUIRE(shard->try_lead());
  BOOST_TEST(shard->sleep_as_leader(never, &none, ready).ok());
  drive();
  port.deadline_ns = 1;
  BOOST_TEST(shard->sleep_as_leader(never, &none, ready).ok());
  shard->stop_leading();
}

BOOST_AUTO_TEST_CASE(a_shard_without_any_port_runs_tasks_and_timers) {
  ProviderSet none;
  const auto alone = std::move(*Shard::create(none));
  const auto timer = std::make_shared<Timer>();
  bool ran = false;
  alone->execute(make_task([&](Shard& owner) {
    ran = true;
    owner.arm_timer(1, timer);
    for (const Role role : kRoles) {
      BOOST_TEST(owner.port(role) == nullptr);
      BOOST_TEST((owner.why_no_port(role).code == ReasonCode::kNotBuilt));
    }
  }));
  BOOST_TEST(ran);
  alone->drive(monotonic_ns(), true);
  BOOST_TEST(timer->fired == 1);
}

BOOST_AUTO_TEST_CASE(a_sleeping_leader_hears_of_the_first_plain_socket) {
  int ends[2];
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const UniqueFd near_end(ends[0]);
  const UniqueFd far_end(ends[1]);
  const std::uint64_t token = attached();
  std::atomic<bool> heard = false;
  client->then = [&] { heard = true; };
  bool led = false;
  bool slept_well = true;
  exs::test::WaitingThread leader([&] {
    ReadyPorts ready;
    WaitLimit never = WaitLimit::until(kNoDeadline);
    sigset_t none;
    sigemptyset(&none);
    led = shard->try_lead();
    while (!heard) {
      slept_well = shard->sleep_as_leader(never, &none, ready).ok() && slept_well;
      shard->drive(monotonic_ns(), true, ready);
    }
    shard->stop_leading();
  });
  leader.await_sleep();
  execute([&](Shard& owner) {
    const auto readiness = owner.readiness();
    BOOST_REQUIRE(readiness.has_value());
    BOOST_TEST((*readiness)->watch(near_end.get(), POLLIN, token).ok());
  });
  BOOST_TEST(::write(far_end.get(), "x", 1) == 1);
  leader.join();
  BOOST_TEST(led);
  BOOST_TEST(slept_well);
  BOOST_TEST(client->tokens.size() == 1U);
}

// While its calls find events the thread never sleeps, and the engine stands by: nobody else would look.
BOOST_AUTO_TEST_CASE(a_thread_that_always_finds_an_event_looks_at_the_network) {
  constexpr int kEvents = 1000;
  for (const int mode : {EXS_WAIT_ADAPTIVE, EXS_WAIT_NOTIFY, EXS_WAIT_BUSY_POLL}) {
    const auto queue = std::make_shared<EventQueue>(1, shard);
    queue->set_wait_mode(mode);
    const int looks = port.looks;
    for (int i = 0; i < kEvents; ++i) {
      exs_event_t event{};
      BOOST_REQUIRE(queue->reserve());
      queue->push({}, nullptr);
      const auto taken = wait_for_events(*queue, &event, 1, 1, WaitLimit::until(kNoDeadline));
      BOOST_REQUIRE(taken && *taken == 1);
    }
    BOOST_TEST(port.looks - looks >= 10, "in mode " << mode << ": " << port.looks - looks);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
