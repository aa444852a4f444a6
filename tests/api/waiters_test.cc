// Threads that wait: several on one queue, on several queues of one shard, and woken across shards.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/environment_setting.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/raw_peer.h"

namespace exs::test {
namespace waiters_test {

// The first base of the fixtures: sets the number of shards before the library begins.
template <int kShards>
struct Shards {
  EnvironmentSetting setting{"EXS_SHARDS", std::to_string(kShards).c_str()};
};

template <int kShards>
struct Fixture : Shards<kShards> {
  InitializedLibrary library;
  Memory memory{4096};

  int send(int socket, Queue& queue, std::uintptr_t number = 0) {
    return exs_send(socket, memory.at(), 8, 0, queue.handle(), reinterpret_cast<exs_ahandle_t>(number),
                    memory.handle());
  }
  int receive(int socket, Queue& queue, std::uintptr_t number = 0) {
    return exs_recv(socket, memory.at(64), 8, 0, queue.handle(), reinterpret_cast<exs_ahandle_t>(number),
                    memory.handle());
  }
};

const int kModes[] = {EXS_WAIT_ADAPTIVE, EXS_WAIT_NOTIFY, EXS_WAIT_BUSY_POLL};

// Many threads take `events` events of one queue. Returns the handles of these events.
std::multiset<std::uintptr_t> take_with_threads(Queue& queue, int thread_count, int events,
                                                const std::function<void()>& produce) {
  std::mutex mutex;
  std::multiset<std::uintptr_t> seen;
  std::atomic<int> left{events};
  std::vector<std::thread> takers;
  for (int i = 0; i < thread_count; ++i) {
    takers.emplace_back([&] {
      exs_event_t event{};
      while (left.load() > 0) {
        // Other threads may take the last events, so the wait is limited.
        if (exs_qwait(queue.handle(), &event, 1, 1, 10'000'000) != 1) continue;
        --left;
        const std::lock_guard guard(mutex);
        seen.insert(reinterpret_cast<std::uintptr_t>(event.exs_evt_ahandle));
      }
    });
  }
  produce();
  for (std::thread& taker : takers) taker.join();
  return seen;
}

}  // namespace waiters_test

BOOST_AUTO_TEST_SUITE(waiters_test)

BOOST_FIXTURE_TEST_CASE(each_event_goes_to_one_of_many_threads, Fixture<1>) {
  constexpr int kMessages = 400;
  Queue sending(1000);
  for (const int mode : kModes) {
    Queue queue(1000, mode);
    const Pair pair(sending);
    BOOST_REQUIRE_EQUAL(exs_fcntl(pair.right, EXS_F_SET_MAX_OPS, 1000), 0);
    const auto seen = take_with_threads(queue, 3, kMessages, [&] {
      for (std::uintptr_t i = 0; i < kMessages; ++i) {
        BOOST_REQUIRE_EQUAL(receive(pair.right, queue, i), 0);
        BOOST_REQUIRE_EQUAL(send(pair.left, sending), 0);
        BOOST_REQUIRE_EQUAL(sending.next_outcome(pair.left, EXS_EVT_SEND), "0");
      }
    });
    BOOST_TEST(seen.size() == static_cast<std::size_t>(kMessages));
    BOOST_TEST((std::set<std::uintptr_t>(seen.begin(), seen.end()).size()) == seen.size());
  }
}

// One thread takes the events of a queue. Another one drives its shard, by looking at a queue of its own, while messages come.
BOOST_FIXTURE_TEST_CASE(events_come_in_order_whoever_drives_the_shard, Fixture<1>) {
  constexpr std::uintptr_t kMessages = 100'000;
  constexpr std::uintptr_t kOpen = 24;  // fewer than there are credits
  Queue sending(1000);
  Queue queue(1000, EXS_WAIT_BUSY_POLL);
  Queue of_another(8);
  const Pair pair(sending);
  std::atomic<std::uintptr_t> posted{0};
  std::atomic<bool> done{false};
  std::thread another([&] {
    exs_event_t event{};
    while (!done) exs_qwait(of_another.handle(), &event, 1, 0, 0);
  });
  std::thread sender([&] {
    for (std::uintptr_t sent = 0; sent < kMessages && !done;) {
      if (sent == posted) continue;
      const int status =
          exs_send(pair.left, memory.at(), 8, EXS_NO_EVENT, sending.handle(), nullptr, memory.handle());
      if (status == 0) ++sent;
    }
  });
  std::uintptr_t wrong = 0;
  for (std::uintptr_t taken = 0; taken < kMessages && wrong == 0; ++taken) {
    for (; posted < kMessages && posted - taken < kOpen; ++posted) {
      if (receive(pair.right, queue, posted) != 0) wrong = taken + 1;
    }
    exs_event_t event{};
    if (exs_qwait(queue.handle(), &event, 1, 1, 10'000'000'000) != 1) wrong = taken + 1;
    if (reinterpret_cast<std::uintptr_t>(event.exs_evt_ahandle) != taken) wrong = taken + 1;
  }
  done = true;
  another.join();
  sender.join();
  BOOST_TEST(wrong == 0U);
}

// Two threads exchange messages; each sleeps on its queue while the other one works.
template <typename F>
void ping_pong(F& fixture, int mode) {
  constexpr int kRounds = 200;
  Queue left_queue(64, mode);
  Queue right_queue(64, mode);
  const Pair pair(left_queue, right_queue);
  std::atomic<bool> good{true};
  std::thread echo([&] {
    for (int i = 0; i < kRounds; ++i) {
      if (fixture.receive(pair.right, right_queue) != 0) good = false;
      if (right_queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_errno != 0) good = false;
      if (fixture.send(pair.right, right_queue) != 0) good = false;
    }
    for (int i = 0; i < kRounds; ++i) right_queue.next_of(pair.right, EXS_EVT_SEND);
  });
  for (int i = 0; i < kRounds; ++i) {
    BOOST_REQUIRE_EQUAL(fixture.receive(pair.left, left_queue), 0);
    BOOST_REQUIRE_EQUAL(fixture.send(pair.left, left_queue), 0);
    BOOST_REQUIRE_EQUAL(left_queue.next_outcome(pair.left, EXS_EVT_RECV), "0");
    BOOST_REQUIRE_EQUAL(left_queue.next_outcome(pair.left, EXS_EVT_SEND), "0");
  }
  echo.join();
  BOOST_TEST(good);
}

BOOST_FIXTURE_TEST_CASE(two_queues_of_one_shard_wake_each_their_own_thread, Fixture<1>) {
  for (const int mode : kModes) ping_pong(*this, mode);
}

BOOST_FIXTURE_TEST_CASE(two_queues_of_two_shards_wake_each_their_own_thread, Fixture<2>) {
  for (const int mode : kModes) ping_pong(*this, mode);
}

BOOST_FIXTURE_TEST_CASE(a_queue_is_woken_by_a_connection_of_another_shard, Fixture<2>) {
  for (const int mode : kModes) {
    Queue first(64, mode);   // the connection's shard
    Queue second(64, mode);  // the other one
    const Pair pair(first);
    for (int i = 0; i < 50; ++i) {
      int taken = 0;
      exs_event_t event{};
      BOOST_REQUIRE_EQUAL(receive(pair.right, second), 0);
      WaitingThread waiting([&] { taken = exs_qwait(second.handle(), &event, 1, 1, -1); });
      if (mode != EXS_WAIT_BUSY_POLL) waiting.await_sleep();
      BOOST_REQUIRE_EQUAL(send(pair.left, first), 0);
      waiting.join();
      BOOST_TEST(taken == 1);
      BOOST_TEST(event.exs_evt_socket == pair.right);
      BOOST_TEST(first.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_follower_gets_its_event_while_the_leader_gets_none, Fixture<1>) {
  Queue quiet(64, EXS_WAIT_NOTIFY);
  Queue busy(64, EXS_WAIT_NOTIFY);
  Queue sending;
  const Pair pair(sending);
  exs_event_t events[2];
  WaitingThread leader([&] { exs_qwait(quiet.handle(), &events[0], 1, 1, -1); });
  leader.await_sleep();
  for (int i = 0; i < 50; ++i) {
    BOOST_REQUIRE_EQUAL(receive(pair.right, busy), 0);
    int taken = 0;
    WaitingThread follower([&] { taken = exs_qwait(busy.handle(), &events[1], 1, 1, -1); });
    follower.await_sleep();
    BOOST_REQUIRE_EQUAL(send(pair.left, sending), 0);
    follower.join();
    BOOST_TEST(taken == 1);
    BOOST_TEST(sending.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  }
  BOOST_REQUIRE_EQUAL(receive(pair.right, quiet), 0);
  BOOST_REQUIRE_EQUAL(send(pair.left, sending), 0);
}

BOOST_FIXTURE_TEST_CASE(accepted_connections_live_on_the_shard_of_the_queue_of_the_accept, Fixture<4>) {
  constexpr int kConnections = 12;
  const ListeningSocket listening;
  sockaddr_in address = listening.address();
  Queue connecting;
  std::vector<std::unique_ptr<Queue>> queues;
  for (int i = 0; i < 4; ++i) queues.push_back(std::make_unique<Queue>());
  for (int i = 0; i < kConnections; ++i) {
    Queue& queue = *queues[static_cast<std::size_t>(i) % queues.size()];
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
    BOOST_REQUIRE_EQUAL(
        exs_connect(socket, generic(address), sizeof address, 0, connecting.handle(), nullptr), 0);
    BOOST_TEST(connecting.next_outcome(socket, EXS_EVT_CONNECT) == "0");
    const int accepted =
        queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
    BOOST_REQUIRE_EQUAL(receive(accepted, queue), 0);
    BOOST_REQUIRE_EQUAL(send(socket, connecting), 0);
    BOOST_TEST(queue.next_outcome(accepted, EXS_EVT_RECV) == "0");
    BOOST_TEST(exs_close(socket) == 0);
    BOOST_TEST(exs_close(accepted) == 0);
  }
}

BOOST_FIXTURE_TEST_CASE(an_accept_for_another_shard_has_its_event_before_its_listener_is_closed, Fixture<2>) {
  Queue first;
  Queue second;
  std::atomic<bool> over{false};
  const Pair busy(second);
  // Keeps the drive lock of the second shard busy, so that connections handed over to it often have to wait.
  std::thread hammer([&] {
    exs_stats_t stats{};
    stats.struct_bytes = sizeof stats;
    while (!over) exs_getstats(busy.left, &stats);
  });
  for (int round = 0; round < 200; ++round) {
    const int listening = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    sockaddr_in address = loopback();
    socklen_t length = sizeof address;
    BOOST_REQUIRE_EQUAL(exs_bind(listening, generic(address), length), 0);
    BOOST_REQUIRE_EQUAL(exs_listen(listening, 4), 0);
    BOOST_REQUIRE_EQUAL(exs_getsockname(listening, generic(address), &length), 0);
    // The first accept decides the shard of the listener, the second the shard of its own connection.
    BOOST_REQUIRE_EQUAL(exs_accept(listening, nullptr, 0, first.handle(), nullptr), 0);
    BOOST_REQUIRE_EQUAL(exs_accept(listening, nullptr, 0, second.handle(), nullptr), 0);
    RawPeer peers[] = {RawPeer(address), RawPeer(address)};
    for (RawPeer& peer : peers) peer.request(honest_hello());
    const exs_event_t accepted = first.next_of(listening, EXS_EVT_ACCEPT);
    BOOST_REQUIRE_EQUAL(exs_close(listening), 0);
    BOOST_REQUIRE_EQUAL(attribute(second.handle(), EXS_QATTR_EVENTS), 1);
    const exs_event_t other = second.next_of(listening, EXS_EVT_ACCEPT);
    for (RawPeer& peer : peers) peer.reset();
    for (const exs_event_t& event : {accepted, other}) {
      const int socket = event.exs_evt_union.exs_evt_accept.exs_evt_newsocket;
      if (socket >= 0) BOOST_REQUIRE_EQUAL(outcome(exs_close(socket)), "ok");
    }
  }
  over = true;
  hammer.join();
}

BOOST_FIXTURE_TEST_CASE(a_process_out_of_descriptors_can_close, Fixture<1>) {
  Queue quiet(4, EXS_WAIT_NOTIFY);
  Queue queue;
  const Pair pair(queue);
  BOOST_REQUIRE_EQUAL(receive(pair.right, quiet), 0);
  WaitingThread leader([&] { quiet.next(); });
  leader.await_sleep();
  // The close waits as a follower, and its queue can open no descriptor to be woken by. The linger limit is
  // longer than any run but a hang.
  BOOST_REQUIRE_EQUAL(set_option(pair.left, EXS_SO_LINGER_MS, INT_MAX), 0);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const int result = exs_close(pair.left);
  ::setrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST(result == 0);
}

// An acknowledgement may wait for company, but not for a program that looks no more.
BOOST_AUTO_TEST_CASE(a_send_ends_although_the_receiver_looks_no_more) {
  Fixture<2> here;
  Queue sending{4, EXS_WAIT_NOTIFY};
  Queue receiving{4, EXS_WAIT_BUSY_POLL};
  const Pair pair(sending, receiving);
  for (int i = 0; i < 20; ++i) {
    BOOST_REQUIRE_EQUAL(here.receive(pair.right, receiving), 0);
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, here.memory.at(), 8, EXS_NO_IMMEDIATE, sending.handle(), nullptr,
                                 here.memory.handle()),
                        0);
    receiving.next_of(pair.right, EXS_EVT_RECV);
    sending.next_of(pair.left, EXS_EVT_SEND);
  }
}

BOOST_AUTO_TEST_CASE(fini_ends_the_waits_of_other_threads) {
  for (const int mode : {EXS_WAIT_ADAPTIVE, EXS_WAIT_NOTIFY}) {
    BOOST_REQUIRE_EQUAL(exs_init(EXS_VERSION), 0);
    const exs_qhandle_t queue = exs_qcreate(4);
    BOOST_REQUIRE_EQUAL(exs_qmodify(queue, EXS_QATTR_WAIT, &mode, sizeof mode), 0);
    std::string results[2];
    const auto wait = [&](std::string& result) {
      exs_event_t event{};
      result = outcome(exs_qwait(queue, &event, 1, 1, -1));
    };
    WaitingThread leader([&] { wait(results[0]); });
    leader.await_sleep();
    WaitingThread follower([&] { wait(results[1]); });
    follower.await_sleep();
    BOOST_REQUIRE_EQUAL(exs_fini(), 0);
    leader.join();
    follower.join();
    BOOST_TEST(results[0] == "EBADF");
    BOOST_TEST(results[1] == "EBADF");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
