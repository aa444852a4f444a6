// A shard without a port, in virtual time: timers, commands, waits, and who watches when. Days pass in no time.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <memory>
#include <thread>
#include <vector>

#include "event/engine/deadline.h"
#include "event/queue/wait.h"
#include "tests/support/virtual_time.h"

namespace exs::test {
namespace virtual_time_test {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1000 * kMs;
constexpr std::uint64_t kDay = 86'400 * kSecond;

struct Firing {
  std::uint64_t at_ns = 0;
  std::thread::id thread;
};

// Notes when and by whom it was fired.
struct Timer : TimerClient {
  explicit Timer(const Clock& given) : clock(given) {}
  void timer_fired(std::uint64_t) override {
    firings.push_back({clock.now_ns(), std::this_thread::get_id()});
  }
  const Clock& clock;
  std::vector<Firing> firings;  // Thread: shard
};

struct Fixture {
  explicit Fixture(std::uint64_t tick_ns = 0) : time(tick_ns) {}
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  VirtualTime time;
  ProviderSet none;
  std::shared_ptr<Shard> shard = std::move(*Shard::create(none, time.source()));
  const std::uint64_t start_ns = time.now_ns();
  const std::uint64_t real_start_ns = monotonic_ns();

  // Far less than what passes here.
  ~Fixture() { BOOST_TEST(monotonic_ns() - real_start_ns < 60 * kSecond); }

  void start_engine() {
    BOOST_REQUIRE(shard->start_engine().ok());
    time.await_sleepers(1);
  }
  std::shared_ptr<Timer> arm(std::uint64_t after_ns) {
    auto timer = std::make_shared<Timer>(shard->clock());
    shard->carry_out([&] { shard->arm_timer(start_ns + after_ns, timer); });
    return timer;
  }
  std::shared_ptr<EventQueue> make_queue(int mode = EXS_WAIT_NOTIFY) {
    auto queue = std::make_shared<EventQueue>(10, shard);
    queue->set_wait_mode(mode);
    return queue;
  }
  static std::size_t wait(EventQueue& queue, std::uint64_t ns) {
    exs_event_t event{};
    const auto taken = wait_for_events(queue, &event, 1, 1, WaitLimit::lasting(ns));
    return taken ? *taken : 99;
  }
  [[nodiscard]] std::uint64_t passed_ns() const { return time.now_ns() - start_ns; }
};

// Looks at the clock move it a little, so that a thread that spins comes to an end.
struct TickingFixture : Fixture {
  TickingFixture() : Fixture(10) {}
};
// For many waits: each look of one that spins is work.
struct CoarselyTickingFixture : Fixture {
  CoarselyTickingFixture() : Fixture(500) {}
};

// Adds an event to its queue when it fires.
struct Pusher : TimerClient {
  explicit Pusher(std::shared_ptr<EventQueue> given) : queue(std::move(given)) {}
  void timer_fired(std::uint64_t) override {
    BOOST_REQUIRE(queue->reserve());
    queue->push({}, nullptr);
  }
  const std::shared_ptr<EventQueue> queue;
};

}  // namespace virtual_time_test

BOOST_FIXTURE_TEST_SUITE(virtual_time_test, Fixture)

BOOST_AUTO_TEST_CASE(commands_run_without_a_port_and_without_time) {
  bool ran = false;
  shard->execute(make_task([&] { ran = true; }));
  BOOST_TEST(ran);
  BOOST_TEST(passed_ns() == 0U);
}

BOOST_AUTO_TEST_CASE(the_clock_moves_only_when_all_threads_sleep) {
  start_engine();
  const auto timer = arm(kSecond);
  BOOST_TEST(passed_ns() == 0U);
  BOOST_TEST(timer->firings.empty());
  time.pass(kDay);
  BOOST_TEST(passed_ns() == kDay);
}

BOOST_AUTO_TEST_CASE(a_wait_ends_exactly_when_its_limit_is_reached) {
  const auto queue = make_queue();
  BOOST_TEST(wait(*queue, kDay) == 0U);
  BOOST_TEST(passed_ns() == kDay);
}

BOOST_AUTO_TEST_CASE(a_wait_ends_exactly_when_its_event_comes) {
  const auto queue = make_queue();
  const auto pusher = std::make_shared<Pusher>(queue);
  shard->carry_out([&] { shard->arm_timer(start_ns + 3 * kSecond, pusher); });
  BOOST_TEST(wait(*queue, kDay) == 1U);
  BOOST_TEST(passed_ns() == 3 * kSecond);
}

BOOST_AUTO_TEST_CASE(the_engine_fires_each_timer_at_its_time) {
  start_engine();
  std::vector<std::shared_ptr<Timer>> timers;
  for (const std::uint64_t after_ns : {kDay, kMs, 5 * kSecond}) timers.push_back(arm(after_ns));
  time.pass(2 * kDay);
  const std::vector<std::uint64_t> due{kDay, kMs, 5 * kSecond};
  for (std::size_t i = 0; i < timers.size(); ++i) {
    BOOST_REQUIRE(timers[i]->firings.size() == 1U);
    BOOST_TEST(timers[i]->firings[0].at_ns - start_ns == due[i]);
    BOOST_TEST((timers[i]->firings[0].thread != std::this_thread::get_id()));
  }
}

BOOST_AUTO_TEST_CASE(a_deadline_that_is_set_anew_fires_at_its_last_time_alone) {
  start_engine();
  struct Owner {
    std::vector<std::uint64_t> fired;
    Deadline deadline{[this](std::uint64_t now_ns) { fired.push_back(now_ns); }};
  };
  const auto owner = std::make_shared<Owner>();
  shard->carry_out([&] {
    owner->deadline.set(*shard, start_ns + kSecond, owner);
    owner->deadline.set(*shard, start_ns + 2 * kSecond, owner);
  });
  time.pass(kDay);
  BOOST_TEST(owner->fired == std::vector<std::uint64_t>{start_ns + 2 * kSecond},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_leader_fires_the_timers_and_the_engine_does_once_it_has_left) {
  start_engine();
  const auto queue = make_queue();
  const auto in_the_wait = arm(kSecond);
  const auto after_it = arm(20 * kSecond);
  BOOST_TEST(wait(*queue, 10 * kSecond) == 0U);
  BOOST_TEST(passed_ns() == 10 * kSecond);
  BOOST_REQUIRE(in_the_wait->firings.size() == 1U);
  BOOST_TEST(in_the_wait->firings[0].at_ns - start_ns == kSecond);
  time.pass(kDay);
  BOOST_REQUIRE(after_it->firings.size() == 1U);
  BOOST_TEST(after_it->firings[0].at_ns - start_ns == 20 * kSecond);
  BOOST_TEST((after_it->firings[0].thread != std::this_thread::get_id()));
}

// The engine steps back for a thread that drives, and takes over a millisecond later.
BOOST_AUTO_TEST_CASE(the_engine_takes_over_a_millisecond_after_the_last_drive) {
  start_engine();
  shard->drive(time.now_ns(), true);
  const auto timer = arm(100'000);  // wakes the engine, which sees the drive
  time.pass(kSecond);
  BOOST_REQUIRE(timer->firings.size() == 1U);
  BOOST_TEST((timer->firings[0].thread != std::this_thread::get_id()));
  BOOST_TEST(timer->firings[0].at_ns - start_ns <= kMs);
  BOOST_TEST(timer->firings[0].at_ns - start_ns >= 100'000U);
}

BOOST_AUTO_TEST_CASE(bytes_held_back_leave_when_no_thread_comes) {
  start_engine();
  struct Member : BurstClient {
    explicit Member(const Clock& given) : clock(given) {}
    void burst_ended() override { ended_ns.push_back(clock.now_ns()); }
    const Clock& clock;
    std::vector<std::uint64_t> ended_ns;
  } member(shard->clock());
  shard->carry_out([&] {
    shard->begin_burst(member);
    shard->combining_pending();
  });
  BOOST_TEST(member.ended_ns.empty());
  time.pass(kSecond);
  BOOST_REQUIRE(member.ended_ns.size() == 1U);
  BOOST_TEST(member.ended_ns[0] - start_ns == 100'000U);
}

BOOST_AUTO_TEST_CASE(a_follower_is_served_while_another_thread_leads) {
  start_engine();
  const auto led = make_queue();
  const auto followed = make_queue();
  const auto pusher = std::make_shared<Pusher>(followed);
  shard->carry_out([&] { shard->arm_timer(start_ns + kSecond, pusher); });
  std::size_t taken = 0;
  std::uint64_t taken_ns = 0;
  std::size_t led_taken = 99;
  std::thread leader([&] { led_taken = wait(*led, kDay); });
  time.await_sleepers(2);  // the engine and the leader
  std::thread follower([&] {
    taken = wait(*followed, kDay);
    taken_ns = time.now_ns();
  });
  time.await_sleepers(3);
  time.pass(2 * kDay);
  leader.join();
  follower.join();
  BOOST_TEST(led_taken == 0U);
  BOOST_TEST(taken == 1U);
  BOOST_TEST(taken_ns - start_ns == kSecond);
}

BOOST_FIXTURE_TEST_CASE(a_wait_spins_for_as_long_as_its_queue_says_then_sleeps, TickingFixture) {
  const auto queue = make_queue(EXS_WAIT_ADAPTIVE);
  BOOST_TEST(wait(*queue, kSecond) == 0U);
  BOOST_TEST(passed_ns() >= kSecond);
  BOOST_TEST(passed_ns() < kSecond + kMs);
}

BOOST_FIXTURE_TEST_CASE(waits_learn_whether_to_spin_from_those_that_end_with_an_event,
                        CoarselyTickingFixture) {
  const auto queue = make_queue(EXS_WAIT_ADAPTIVE);
  const auto wait_for_one_after = [&](std::uint64_t ns) {
    const auto pusher = std::make_shared<Pusher>(queue);
    shard->carry_out([&] { shard->arm_timer(time.now_ns() + ns, pusher); });
    BOOST_TEST(wait(*queue, kSecond) == 1U);
  };
  constexpr std::uint64_t kInTime = EventQueue::kDefaultSpinNs / 2;
  constexpr std::uint64_t kLate = EventQueue::kDefaultSpinNs * 2;
  const auto& choice = queue->spin_choice();
  for (std::uint32_t i = 0; i < 2 * SpinChoice::kVainLeast; ++i) BOOST_TEST(wait(*queue, kLate) == 0U);
  for (std::uint32_t i = 0; i < SpinChoice::kVainLeast; ++i) {
    BOOST_TEST(choice.is_to_spin());
    wait_for_one_after(kLate);
    if (i == 0) wait_for_one_after(kInTime);
  }
  BOOST_TEST(choice.is_to_spin());
  wait_for_one_after(kLate);
  // Expect: some sleep at once now, which is no faster.
  for (std::uint32_t i = 0; i < SpinChoice::kSleepsLeast; ++i) {
    BOOST_TEST(!choice.is_to_spin());
    wait_for_one_after(kLate);
  }
  for (std::uint32_t i = 0; i < SpinChoice::kPolls + 2 * SpinChoice::kVainLeast; ++i) {
    BOOST_TEST(choice.is_to_spin());
    wait_for_one_after(kLate);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
