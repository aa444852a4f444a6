// The engine thread: progress when nobody drives, stepping back when somebody does, start and end.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "tests/event/fake_port.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace engine_test {

struct Client : CompletionClient {
  void complete(const Completion&) override {
    completed_on = std::this_thread::get_id();
    ++completions;
    completions.notify_all();
  }
  std::atomic<std::thread::id> completed_on{};
  std::atomic<int> completions{0};
};

struct Timer : TimerClient {
  void timer_fired(std::uint64_t) override {
    ++fired;
    fired.notify_all();
  }
  std::atomic<int> fired{0};
};

struct Fixture : ShardFixture {
  std::shared_ptr<Client> client = std::make_shared<Client>();
  std::uint64_t token = 0;

  Fixture() {
    execute([&](Shard& owner) { token = owner.attach(client); });
    BOOST_REQUIRE(shard->start_engine().ok());
  }
  void bring() {
    Completion completion;
    completion.link = token;
    port.bring(completion);
  }
};

}  // namespace engine_test

BOOST_FIXTURE_TEST_SUITE(engine_test, Fixture)

BOOST_AUTO_TEST_CASE(the_engine_takes_in_what_arrives_while_nobody_waits) {
  for (int i = 0; i < 100; ++i) {
    bring();
    client->completions.wait(i);
  }
  BOOST_TEST((client->completed_on.load() == port.engine.load()));
  BOOST_TEST((port.engine.load() != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(starting_twice_gives_one_engine_and_stopping_ends_it) {
  BOOST_TEST(shard->start_engine().ok());
  shard->stop_engine();
  shard->stop_engine();
  await_no_engines();
}

BOOST_AUTO_TEST_CASE(commands_still_run_after_the_engine_has_ended) {
  shard->stop_engine();
  bool ran = false;
  execute([&](Shard&) { ran = true; });
  BOOST_TEST(ran);
}

BOOST_AUTO_TEST_CASE(the_engine_fires_timers_that_are_armed_while_it_sleeps) {
  const auto timer = std::make_shared<Timer>();
  for (int i = 0; i < 20; ++i) {
    execute([&](Shard& owner) { owner.arm_timer(monotonic_ns() + 100'000, timer); });
    timer->fired.wait(i);
  }
  BOOST_TEST(timer->fired == 20);
}

BOOST_AUTO_TEST_CASE(the_engine_comes_back_after_a_spinning_waiter_has_gone) {
  for (int i = 0; i < 50; ++i) {
    for (int spin = 0; spin < 20; ++spin) drive();
    const int before = client->completions;
    bring();
    client->completions.wait(before);
  }
}

BOOST_AUTO_TEST_CASE(the_engine_comes_back_after_a_leader_has_gone) {
  ReadyPorts ready;
  WaitLimit over = WaitLimit::until(1);
  sigset_t none;
  sigemptyset(&none);
  for (int i = 0; i < 200; ++i) {
    BOOST_REQUIRE(shard->try_lead());
    BOOST_TEST(shard->sleep_as_leader(over, &none, ready).ok());
    shard->stop_leading();
    if (i % 4 != 0) continue;  // leaders come and go faster than the engine looks, too
    const int before = client->completions;
    bring();
    client->completions.wait(before);
  }
}

BOOST_AUTO_TEST_CASE(a_follower_left_alone_has_the_engine_at_once) {
  BOOST_REQUIRE(shard->try_lead());
  BOOST_REQUIRE(shard->start_following());
  shard->stop_leading();
  bring();
  client->completions.wait(0);
  shard->stop_following();
  BOOST_TEST((client->completed_on.load() == port.engine.load()));
}

BOOST_AUTO_TEST_CASE(an_engine_parked_behind_a_leader_can_be_stopped) {
  BOOST_REQUIRE(shard->try_lead());
  drive();
  shard->stop_engine();
  shard->stop_leading();
  await_no_engines();
}

BOOST_AUTO_TEST_CASE(the_engine_blocks_every_signal) {
  bring();
  client->completions.wait(0);
  bool found = false;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    if (name != "exs-engine") continue;
    found = true;
    std::ifstream status(task.path() / "status");
    std::string line;
    while (std::getline(status, line)) {
      if (line.rfind("SigBlk:", 0) != 0) continue;
      const auto blocked = std::stoull(line.substr(7), nullptr, 16);
      for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPIPE}) {
        BOOST_TEST((blocked >> (signal - 1) & 1U) == 1U);
      }
    }
  }
  BOOST_TEST(found);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
