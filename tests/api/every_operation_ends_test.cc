// Each accepted operation gives exactly one event, in time, whatever happens: processes that post at random
// are stopped, killed and restarted, their connections reset, their operations cancelled, their sockets
// closed, with time limits on. For longer runs:
//   tests-api --run_test=every_operation_ends_test -- --seconds 600 --seed 1
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/wait.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "event/engine/shard.h"
#include "tests/support/fork_server.h"
#include "tests/support/stress_peer.h"

namespace exs::test {
namespace every_operation_ends_test {

constexpr std::size_t kPeers = 3;
constexpr std::size_t kSlots = 16;
constexpr std::size_t kPeerSlots = 12;
constexpr std::uint64_t kNsPerMs = 1'000'000;

struct Wishes {
  std::uint64_t seconds = 4;
  std::uint64_t seed = std::random_device()();
};

Wishes wishes_of_this_run() {
  Wishes wishes;
  if (const char* seed = std::getenv("EXS_TEST_SEED")) wishes.seed = std::strtoull(seed, nullptr, 10);
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; ++i) {
    const std::string option = suite.argv[i];
    if (option == "--seconds") wishes.seconds = std::strtoull(suite.argv[i + 1], nullptr, 10);
    if (option == "--seed") wishes.seed = std::strtoull(suite.argv[i + 1], nullptr, 10);
  }
  std::printf("--seconds %llu --seed %llu\n", static_cast<unsigned long long>(wishes.seconds),
              static_cast<unsigned long long>(wishes.seed));
  std::fflush(stdout);
  return wishes;
}

// ---------------------------------------------------------------- the peer: one thread, one process

volatile std::sig_atomic_t told_to_end = 0;
void note_end(int) {
  told_to_end = 1;
}

int run_peer(int type, std::uint64_t seed, const ForkServer::TellPort& tell_port) {
  struct sigaction action {};
  action.sa_handler = note_end;
  ::sigaction(SIGTERM, &action, nullptr);
  Random random(seed);
  const InitializedLibrary library;
  StressPeer stress_peer(kPeerSlots, type);
  stress_peer.listen(random);
  stress_peer.tend(random, monotonic_ns());
  tell_port(stress_peer.port());
  while (told_to_end == 0) {
    for (std::size_t i = below(random, 8); i > 0; --i) stress_peer.act(random);
    stress_peer.drain(0, kNsPerMs);
    stress_peer.drain(1, 0);
    stress_peer.tend(random, monotonic_ns());
    stress_peer.operations().look_for_overdue(monotonic_ns());
  }
  return stress_peer.finish(random) ? 0 : 3;
}

// ---------------------------------------------------------------- the driver

class Driver {
 public:
  Driver(const ForkServer& fork_server, int type, const Wishes& wishes)
      : fork_server_(fork_server),
        seconds_(wishes.seconds),
        random_(wishes.seed),
        stress_peer_(kSlots, type) {}

  void run() {
    for (std::uint32_t birth = 0; birth < kPeers; ++birth) fork_server_.start(birth);
    stress_peer_.listen(random_);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i) {
      threads.emplace_back([this, seed = random_()] { post(seed); });
      threads.emplace_back([this, i] {
        while (!done_) stress_peer_.drain(i, 5 * kNsPerMs);
      });
    }
    const std::uint64_t end_ns = monotonic_ns() + seconds_ * 1000 * kNsPerMs;
    for (std::uint64_t now_ns = monotonic_ns(); now_ns < end_ns; now_ns = monotonic_ns()) step(now_ns);
    done_ = true;
    for (std::thread& thread : threads) thread.join();
    stress_peer_.finish(random_);
    end_peers();
  }

  void check() {
    OperationTable& operations = stress_peer_.operations();
    std::printf(
        "operations %llu, ended with an error %llu, cancelled %llu, time limits told %llu, closed %llu\n",
        count(operations.accepted()), count(operations.errors()), count(stress_peer_.cancels()),
        count(stress_peer_.late_notices()), count(stress_peer_.closes()));
    std::printf("peers stopped %llu, killed %llu, connections broken %llu\n", count(stops_), count(kills_),
                count(breaks_));
    BOOST_TEST(operations.open() == 0U);
    BOOST_TEST(operations.violations() == 0U);
    BOOST_TEST(bad_ends_ == 0U);
    BOOST_TEST(ended_well_ == kPeers);
    BOOST_TEST(operations.accepted() > 100U);
  }

 private:
  struct Peer {
    pid_t pid = 0;
    std::uint16_t port = 0;      // 0: does not listen yet, or has ended
    std::uint64_t wakes_ns = 0;  // the process is stopped until this time; 0: it runs
    bool killed = false;
  };

  static unsigned long long count(std::uint64_t number) { return number; }

  void post(std::uint64_t seed) {
    Random random(seed);
    while (!done_) {
      stress_peer_.act(random);
      if (below(random, 16) == 0) std::this_thread::yield();
    }
  }

  // Waits for a report of the fork server, for at most a millisecond.
  void step(std::uint64_t now_ns) {
    if (const auto report = fork_server_.next_report(1)) note(*report);
    stress_peer_.tend(random_, now_ns);
    if (const std::size_t slot = stress_peer_.empty_slot(); slot < stress_peer_.slots())
      stress_peer_.connect(random_, slot, some_port());
    for (Peer& peer : peers_) {
      if (peer.wakes_ns != 0 && peer.wakes_ns < now_ns) wake(peer);
    }
    inject(now_ns);
    if (below(random_, 256) == 0) stress_peer_.operations().look_for_overdue(now_ns);
  }

  std::uint16_t some_port() {
    const std::size_t which = below(random_, kPeers + 1);
    return which == kPeers || peers_[which].port == 0 ? stress_peer_.port() : peers_[which].port;
  }

  void inject(std::uint64_t now_ns) {
    Peer& peer = peers_[below(random_, kPeers)];
    switch (below(random_, 400)) {
      case 0:
      case 1:
      case 2:
        if (peer.port == 0 || peer.wakes_ns != 0) return;
        ++stops_;
        peer.wakes_ns = now_ns + below(random_, 1000) * kNsPerMs;
        ::kill(peer.pid, SIGSTOP);
        return;
      case 3:
        if (peer.port == 0) return;
        ++kills_;
        peer.killed = true;
        peer.port = 0;
        ::kill(peer.pid, SIGKILL);
        return;
      case 4:
      case 5:
      case 6:
      case 7: ++breaks_; return stress_peer_.break_connection(random_);
      default: return;
    }
  }

  static void wake(Peer& peer) {
    peer.wakes_ns = 0;
    ::kill(peer.pid, SIGCONT);
  }

  void note(const ForkServer::Report& report) {
    Peer& peer = peers_[report.birth % kPeers];
    if (report.port != 0) {
      peer = {report.pid, report.port, 0, false};
      return;
    }
    const bool well = WIFEXITED(report.status) && WEXITSTATUS(report.status) == 0;
    if (ending_ && well) {
      ++ended_well_;
    } else if (!peer.killed) {
      ++bad_ends_;
      std::fprintf(stderr, "peer %d ended with status %x\n", report.pid,
                   static_cast<unsigned>(report.status));
    }
    peer = {};
    if (!ending_) fork_server_.start(report.birth + kPeers);
  }

  // Waits until peers that were just killed have been replaced, so that all can be asked to end.
  void end_peers() {
    const auto all = [&](auto holds) { return std::all_of(peers_.begin(), peers_.end(), holds); };
    const std::uint64_t deadline_ns = monotonic_ns() + 2 * StressPeer::kBoundNs;
    while (!all([](const Peer& peer) { return peer.port != 0; }) && monotonic_ns() < deadline_ns) {
      if (const auto report = fork_server_.next_report(1000)) note(*report);
    }
    ending_ = true;
    for (Peer& peer : peers_) {
      if (peer.pid == 0) continue;
      wake(peer);
      ::kill(peer.pid, SIGTERM);
    }
    while (ended_well_ + bad_ends_ < kPeers && monotonic_ns() < deadline_ns) {
      if (const auto report = fork_server_.next_report(1000)) note(*report);
    }
  }

  const ForkServer& fork_server_;
  const std::uint64_t seconds_;
  Random random_;
  StressPeer stress_peer_;
  std::array<Peer, kPeers> peers_;
  std::atomic<bool> done_{false};
  bool ending_ = false;
  std::uint64_t stops_ = 0, kills_ = 0, breaks_ = 0;
  std::size_t bad_ends_ = 0, ended_well_ = 0;
};

void run_with_sockets_of(int type) {
  const Wishes wishes = wishes_of_this_run();
  const ForkServer fork_server([&](std::uint32_t birth, const ForkServer::TellPort& tell_port) {
    return run_peer(type, wishes.seed + 1 + birth, tell_port);
  });
  const InitializedLibrary library;
  Driver driver(fork_server, type, wishes);
  driver.run();
  driver.check();
}

// This test breaks connections all the time, so the log is off.
struct QuietLog {
  QuietLog() { ::setenv("EXS_LOG", "off", 0); }
};

}  // namespace every_operation_ends_test

BOOST_AUTO_TEST_SUITE(every_operation_ends_test, *boost::unit_test::fixture<QuietLog>())

BOOST_AUTO_TEST_CASE(in_exactly_one_event_whatever_happens_to_messages) {
  run_with_sockets_of(SOCK_SEQPACKET);
}

BOOST_AUTO_TEST_CASE(in_exactly_one_event_whatever_happens_to_streams) {
  run_with_sockets_of(SOCK_STREAM);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
