// What each setting does to a program: the faults come, and time passes in no time.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/clock.h"
#include "src/provider/registry.h"
#include "src/provider/sim/sim.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace faults_test {

constexpr std::int64_t kHourNs = 3'600'000'000'000;

// A pair on a network with these settings.
struct Bed {
  explicit Bed(const std::string& settings) {
    setenv("EXS_LOG", "off", 1);
    setenv("EXS_PROVIDER", ("sim:" + settings).c_str(), 1);
    BOOST_REQUIRE_EQUAL(exs_init(EXS_VERSION), 0);
    queue.emplace();
    memory.emplace(1 << 16);
  }
  ~Bed() {
    pair.reset();
    memory.reset();
    queue.reset();
    exs_fini();
    unsetenv("EXS_PROVIDER");
    unsetenv("EXS_LOG");
  }
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  void join() { pair.emplace(*queue); }
  // Returns the error of the receive, or of the send if there is one.
  int exchange(std::size_t bytes = 64) {
    if (exs_recv(pair->right, memory->at(), bytes, 0, queue->handle(), nullptr, memory->handle()) != 0)
      return errno;
    if (exs_send(pair->left, memory->at(1 << 15), bytes, 0, queue->handle(), nullptr, memory->handle()) != 0)
      return errno;
    const int sent = queue->next_of(pair->left, EXS_EVT_SEND).exs_evt_errno;
    const int received = queue->next_of(pair->right, EXS_EVT_RECV).exs_evt_errno;
    return received != 0 ? received : sent;
  }
  int messages_until_an_error(int most) {
    for (int i = 0; i < most; ++i) {
      if (exchange() != 0) return i;
    }
    return most;
  }
  static std::uint64_t passed_ns() { return simulation()->report().passed_ns; }

  std::optional<Queue> queue;
  std::optional<Memory> memory;
  std::optional<Pair> pair;
};

}  // namespace faults_test

using faults_test::Bed;

BOOST_AUTO_TEST_SUITE(faults_test)

BOOST_AUTO_TEST_CASE(without_faults_messages_arrive) {
  Bed bed("seed=1");
  bed.join();
  BOOST_TEST(bed.messages_until_an_error(100) == 100);
}

BOOST_AUTO_TEST_CASE(limits_pass_at_once) {
  Bed bed("seed=1");
  exs_event_t event;
  const std::uint64_t before_ns = Bed::passed_ns();
  BOOST_TEST(exs_qwait(bed.queue->handle(), &event, 1, 1, faults_test::kHourNs) == 0);
  BOOST_TEST(Bed::passed_ns() - before_ns >= static_cast<std::uint64_t>(faults_test::kHourNs));
  BOOST_TEST(Bed::passed_ns() - before_ns < static_cast<std::uint64_t>(2 * faults_test::kHourNs));
}

BOOST_AUTO_TEST_CASE(a_connection_is_lost_at_the_step_that_is_named_and_always_at_the_same_message) {
  int messages[2] = {};
  for (int& count : messages) {
    Bed bed("seed=5,lose=100");
    bed.join();
    count = bed.messages_until_an_error(1000);
    BOOST_TEST(bed.exchange() != 0);
  }
  BOOST_TEST(messages[0] == messages[1]);
  BOOST_TEST(messages[0] > 5);
  BOOST_TEST(messages[0] < 100);
}

BOOST_AUTO_TEST_CASE(a_listener_that_died_comes_back) {
  Bed bed("seed=5,die=60,down=1s");
  const ListeningSocket listening;
  const sockaddr_in address = listening.address();
  int connects = 0;
  int refused = 0;
  const std::uint64_t begun_ns = Bed::passed_ns();
  bool came_back = false;
  while (!came_back && connects < 10'000) {
    const int client = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    exs_accept(listening.number(), nullptr, 0, bed.queue->handle(), nullptr);
    const int result = exs_connect_sync(client, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ++connects;
    if (result != 0) ++refused;
    came_back = result == 0 && refused > 1;
    exs_event_t event;
    while (exs_qwait(bed.queue->handle(), &event, 1, 1, 50'000'000) == 1) {
      if (event.exs_evt_errno == 0) exs_close(exs_event_new_socket(&event));
    }
    exs_cancel(listening.number(), nullptr, EXS_CAF_FILDES);
    while (exs_qwait(bed.queue->handle(), &event, 1, 1, 0) == 1) continue;
    exs_close(client);
  }
  BOOST_TEST(came_back);
  BOOST_TEST(refused > 1);
  BOOST_TEST(Bed::passed_ns() - begun_ns > kNsPerSecond);
}

BOOST_AUTO_TEST_CASE(messages_to_a_slow_end_take_a_pause_longer) {
  for (const std::string fault : {"slow", "starve"}) {
    Bed bed("seed=1,pause=1s," + fault + "=1/2");
    bed.join();
    const std::uint64_t before_ns = Bed::passed_ns();
    BOOST_TEST(bed.messages_until_an_error(10) == 10);
    BOOST_TEST(Bed::passed_ns() - before_ns > 2 * kNsPerSecond);
  }
}

BOOST_AUTO_TEST_CASE(a_wait_is_interrupted) {
  Bed bed("seed=1,interrupt=1");
  exs_event_t event;
  BOOST_TEST(outcome(exs_qwait(bed.queue->handle(), &event, 1, 1, faults_test::kHourNs)) == "EINTR");
  BOOST_TEST(exs_qwait(bed.queue->handle(), &event, 1, 1, faults_test::kHourNs) == 0);
}

BOOST_AUTO_TEST_CASE(a_call_that_finds_no_memory_ends_the_connection_alone) {
  bool has_failed = false;
  for (int step = 1; step < 200 && !has_failed; ++step) {
    Bed bed("seed=1,late=1/1,nomem=" + std::to_string(300 + step));
    bed.join();
    const int messages = bed.messages_until_an_error(200);
    has_failed = messages < 200;
    if (!has_failed) continue;
    bed.pair.reset();
    bed.join();
    BOOST_TEST(bed.exchange() == 0);
  }
  BOOST_TEST(has_failed);
}

BOOST_AUTO_TEST_CASE(reads_in_pieces_are_whole_in_the_end) {
  Bed bed("seed=1,pieces=1/1,late=1/1");
  bed.join();
  for (int i = 0; i < 50; ++i) {
    bed.memory->fill(static_cast<std::uint32_t>(i));
    BOOST_TEST(bed.exchange(20'000) == 0);
    BOOST_TEST(std::equal(bed.memory->at(), bed.memory->at(20'000), bed.memory->at(1 << 15)));
  }
}

BOOST_AUTO_TEST_CASE(the_same_seed_takes_the_same_steps_and_another_one_others) {
  std::uint64_t traces[3] = {};
  constexpr int kSeeds[] = {1, 1, 2};
  for (std::size_t i = 0; i < 3; ++i) {
    Bed bed("seed=" + std::to_string(kSeeds[i]) + ",slow=1/20");
    bed.join();
    bed.messages_until_an_error(50);
    traces[i] = simulation()->report().trace;
  }
  BOOST_TEST(traces[0] == traces[1]);
  BOOST_TEST(traces[0] != traces[2]);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
