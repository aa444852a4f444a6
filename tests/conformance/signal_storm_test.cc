// A timer signals the process at a high rate, from the first call to the last: calls that wait say EINTR, others never do,
// and nothing is lost.
//   tests-conformance --run_test=signal_storm_test -- --cycles 5000
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace signal_storm_test {

constexpr int kFirstIntervalUs = 100;
constexpr int kLastIntervalUs = 50'000;
constexpr std::size_t kBytes = 100'000;
constexpr std::int64_t kNoLimit = -1;

std::atomic<std::int64_t> signals{0};
std::atomic<std::uint64_t> interrupted{0};
std::atomic<int> interval_us{0};

int cycles_wanted() {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; ++i) {
    if (std::string_view(suite.argv[i]) == "--cycles") return std::atoi(suite.argv[i + 1]);
  }
  return 20;
}

void signal_every(int microseconds) {
  interval_us = microseconds;
  const itimerval interval{{0, microseconds}, {0, microseconds}};
  ::setitimer(ITIMER_REAL, &interval, nullptr);
}

// Where a signal takes longer than the interval, nothing else would ever run.
constexpr std::int64_t kSignalsWithoutProgress = 500;
std::atomic<std::int64_t> last_progress{0};  // in signals

void count_signal(int) {
  const int error = errno;
  const std::int64_t count = ++signals;
  if (count - last_progress > kSignalsWithoutProgress) {
    last_progress = count;
    signal_every(std::min(2 * interval_us, kLastIntervalUs));
  }
  errno = error;
}

struct Storm {
  Storm() {
    struct sigaction action {};
    action.sa_handler = count_signal;  // no SA_RESTART
    ::sigaction(SIGALRM, &action, nullptr);
    signal_every(kFirstIntervalUs);
  }
  ~Storm() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::signal(SIGALRM, SIG_IGN);
  }
};

// Calls that wait may be called again, with a little more time: each would need more than a slow machine has.
template <typename Call>
auto again(Call call) {
  for (;;) {
    errno = 0;
    const auto result = call();
    last_progress = signals.load();
    if (result != -1 || errno != EINTR) return result;
    ++interrupted;
    signal_every(std::min(2 * interval_us, kLastIntervalUs));
  }
}

// One life of the library, of which every call is made under signals.
class Life {
 public:
  Life() {
    source_.fill(3);
    fill_and_move(64);
    fill_and_move(kBytes);
    move_waiting(64);
    move_waiting(kBytes);
    read_windows();
    connect_waiting();
  }

 private:
  void take(int count) {
    std::array<exs_event_t, 4> events{};
    for (int taken = 0; taken < count;) {
      const int more =
          again([&] { return exs_qwait(queue_.handle(), events.data(), count - taken, 1, kNoLimit); });
      BOOST_REQUIRE(more > 0);
      for (int i = 0; i < more; ++i)
        BOOST_REQUIRE_EQUAL(errno_name(events[static_cast<std::size_t>(i)].exs_evt_errno), "0");
      taken += more;
    }
    BOOST_REQUIRE_EQUAL(exs_qdequeue(queue_.handle(), events.data(), 0, nullptr), 0);
  }
  void check_sink(std::size_t length) {
    BOOST_REQUIRE(std::memcmp(source_.at(), sink_.at(), length) == 0);
    std::memset(sink_.at(), 0, length);
  }
  int connected_to(ListeningSocket& listening, int& accepted) {
    sockaddr_in address = listening.address();
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue_.handle(), nullptr), 0);
    BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue_.handle(), nullptr),
                        0);
    std::array<exs_event_t, 1> event{};
    for (int i = 0; i < 2; ++i) {
      BOOST_REQUIRE_EQUAL(again([&] { return exs_qdequeue(queue_.handle(), event.data(), 1, nullptr); }), 1);
      BOOST_REQUIRE_EQUAL(errno_name(event[0].exs_evt_errno), "0");
      if (event[0].exs_evt_type == EXS_EVT_ACCEPT)
        accepted = event[0].exs_evt_union.exs_evt_accept.exs_evt_newsocket;
    }
    return socket;
  }
  void fill_and_move(std::size_t length) {
    BOOST_REQUIRE_EQUAL(exs_recv(right_, sink_.at(), length, 0, queue_.handle(), nullptr, sink_.handle()), 0);
    BOOST_REQUIRE_EQUAL(exs_send(left_, source_.at(), length, 0, queue_.handle(), nullptr, source_.handle()),
                        0);
    take(2);
    check_sink(length);
  }
  void move_waiting(std::size_t length) {
    ssize_t got = 0;
    std::thread receiver(
        [&] { got = again([&] { return exs_recv_sync(right_, sink_.at(), length, 0, sink_.handle()); }); });
    const auto sent = again([&] { return exs_send_sync(left_, source_.at(), length, 0, source_.handle()); });
    receiver.join();
    BOOST_REQUIRE_EQUAL(sent, static_cast<ssize_t>(length));
    BOOST_REQUIRE_EQUAL(got, static_cast<ssize_t>(length));
    check_sink(length);
  }
  void read_windows() {
    Memory shared(8192);
    auto* const slots = static_cast<exs_slots_t*>(static_cast<void*>(shared.at(4096)));
    exs_slots_init(slots, 3, 64);
    std::memset(exs_slots_begin(slots), 'x', 64);
    exs_slots_end(slots);
    BOOST_REQUIRE_EQUAL(
        exs_send(left_, shared.at(), 8192, EXS_PERSISTENT, queue_.handle(), nullptr, shared.handle()), 0);
    for (int i = 0; i < 20; ++i) {
      BOOST_REQUIRE_EQUAL(
          again([&] { return exs_recv_window(right_, sink_.at(), 64, sink_.handle(), 64, 0, kNoLimit); }),
          64);
      BOOST_REQUIRE_EQUAL(again([&] {
                            return exs_recv_snapshot(right_, sink_.at(), 64, sink_.handle(), 0, 4096, nullptr,
                                                     kNoLimit);
                          }),
                          64);
      BOOST_REQUIRE(*sink_.at() == std::byte{'x'});
    }
    exs_cancel(left_, nullptr, EXS_CAF_FILDES);
    std::array<exs_event_t, 1> event{};
    BOOST_REQUIRE_EQUAL(again([&] { return exs_qwait(queue_.handle(), event.data(), 1, 1, kNoLimit); }), 1);
  }
  // An interrupted connect is done anew; what had been accepted of it has ended.
  void connect_waiting() {
    ListeningSocket listening;
    sockaddr_in address = listening.address();
    int refused = 0;
    std::thread acceptor([&] {
      Memory room(64);
      for (ssize_t got = 0; got != 5 && refused == 0;) {
        const int accepted = again([&] { return exs_accept_sync(listening.number(), nullptr, nullptr); });
        got = again([&] { return exs_recv_sync(accepted, room.at(), 64, 0, room.handle()); });
        refused += static_cast<int>(accepted < 0) + static_cast<int>(exs_close(accepted) != 0);
      }
    });
    int socket = -1;
    again([&] {
      socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
      const int result = exs_connect_sync(socket, generic(address), sizeof address);
      const int error = errno;
      if (result != 0) BOOST_TEST(exs_close(socket) == 0);
      errno = error;
      return result;
    });
    BOOST_TEST(again([&] { return exs_send_sync(socket, source_.at(), 5, 0, source_.handle()); }) == 5);
    acceptor.join();
    BOOST_TEST(refused == 0);
    BOOST_TEST(exs_close(socket) == 0);
  }

  InitializedLibrary library_;
  Queue queue_{64};
  Memory source_{kBytes};
  Memory sink_{kBytes};
  ListeningSocket listening_;
  int right_ = -1;
  int left_ = connected_to(listening_, right_);

  struct Closing {
    Life& life;
    ~Closing() {
      BOOST_TEST(exs_close(life.left_) == 0);
      BOOST_TEST(exs_close(life.right_) == 0);
    }
  } closing_{*this};
};

}  // namespace signal_storm_test

BOOST_AUTO_TEST_SUITE(signal_storm_test)

BOOST_AUTO_TEST_CASE(nothing_is_lost_and_nothing_hangs) {
  {
    const Storm storm;
    const int cycles = cycles_wanted();
    for (int i = 0; i < cycles; ++i) {
      signal_every(kFirstIntervalUs);
      const Life life;
    }
  }
  std::printf("%lld signals, %llu waits interrupted\n", static_cast<long long>(signals),
              static_cast<unsigned long long>(interrupted));
  BOOST_TEST(signals > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
