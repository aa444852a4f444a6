// exs_recv_window: consistent snapshots of memory that is written all the time. To take more snapshots than a
// run of the whole test program does:
//   tests-api --run_test=window_test -- --snapshots 500000
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/support/exs_fixture.h"
#include "tests/support/twice_mapped.h"

namespace exs::test {
namespace window_test {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kWords = 64;

// The memory that the owner publishes. After each update all words are equal.
struct Shared {
  exs_window_t window;
  std::array<std::uint64_t, kWords> words;
};

int snapshots_wished() {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; ++i) {
    if (std::strcmp(suite.argv[i], "--snapshots") == 0) return std::atoi(suite.argv[i + 1]);
  }
  return kSanitized ? 20'000 : 50'000;
}

std::string told(ssize_t result) {
  return result >= 0 ? std::to_string(result) : errno_name(errno);
}

bool is_torn(const std::array<std::uint64_t, kWords>& words) {
  for (const std::uint64_t word : words) {
    if (word != words[0]) return true;
  }
  return false;
}

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  TwiceMapped owned{4096};
  Memory sink{4096};
  Pair pair{queue};
  Shared& shared = *static_cast<Shared*>(owned.of_the_owner());

  void publish() {
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, owned.registered(), sizeof(Shared), EXS_PERSISTENT,
                                 queue.handle(), nullptr, owned.handle()),
                        0);
  }
  ssize_t snapshot(std::int64_t timeout_ns = kHangLimitSeconds * kSecondNs, std::uint64_t window_offset = 0) {
    return exs_recv_window(pair.right, sink.at(), sizeof shared.words, sink.handle(), offsetof(Shared, words),
                           window_offset, timeout_ns);
  }
};

// Updates the memory as fast as it can, in bursts. The pauses between bursts are sometimes long enough for a
// snapshot, which takes four times as long with the thread sanitizer. A generator with a fixed seed gives the
// lengths of bursts and pauses.
class HostileWriter {
 public:
  explicit HostileWriter(Shared& shared) : shared_(shared), thread_([this] { write(); }) {}
  ~HostileWriter() {
    stop_ = true;
    thread_.join();
  }
  [[nodiscard]] std::uint64_t updates() const { return updates_; }

 private:
  static constexpr std::uint64_t kPauseMax = kThreadSanitized ? 16'384 : 4096;

  void write() {
    std::uint64_t state = 1;
    while (!stop_) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const std::uint64_t burst = 1 + (state >> 40) % 16;
      for (std::uint64_t i = 0; i < burst; ++i) update();
      const std::uint64_t pause = (state >> 20) % kPauseMax;
      for (std::uint64_t i = 0; i < pause && !stop_; ++i) __builtin_ia32_pause();
    }
  }
  void update() {
    exs_window_begin(&shared_.window);
    const std::uint64_t number = updates_ + 1;
    shared_.words.fill(number);
    exs_window_end(&shared_.window);
    updates_ = number;
  }

  Shared& shared_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> updates_{0};
  std::thread thread_;
};

}  // namespace window_test

BOOST_FIXTURE_TEST_SUITE(window_test, Fixture)

BOOST_AUTO_TEST_CASE(a_quiet_window_is_read_at_once) {
  shared.words.fill(17);
  publish();
  BOOST_TEST(told(snapshot()) == std::to_string(sizeof shared.words));
  BOOST_TEST(std::memcmp(sink.at(), shared.words.data(), sizeof shared.words) == 0);
  exs_window_begin(&shared.window);
  shared.words.fill(18);
  exs_window_end(&shared.window);
  BOOST_TEST(told(snapshot()) == std::to_string(sizeof shared.words));
  BOOST_TEST(std::memcmp(sink.at(), shared.words.data(), sizeof shared.words) == 0);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 1);  // the slot of the persistent send
}

BOOST_AUTO_TEST_CASE(an_update_that_never_ends_is_given_up) {
  exs_window_begin(&shared.window);
  publish();
  BOOST_TEST(told(snapshot(20'000'000)) == "EINPROGRESS");
  const exs_stats_t before = stats_of(pair.right);
  BOOST_TEST(before.snapshots == 0U);
  BOOST_TEST(before.snapshot_retries > 0U);
  exs_window_end(&shared.window);
  BOOST_TEST(told(snapshot()) == std::to_string(sizeof shared.words));
  BOOST_TEST(stats_of(pair.right).snapshots == 1U);
  BOOST_TEST(stats_of(pair.right).snapshot_retries == before.snapshot_retries);
  BOOST_TEST(stats_of(pair.left).snapshots == 0U);
}

BOOST_AUTO_TEST_CASE(a_peer_that_publishes_nothing_is_given_up) {
  BOOST_TEST(told(snapshot(20'000'000)) == "ENOMSG");
  BOOST_TEST(told(snapshot(0)) == "ENOMSG");
  publish();
  BOOST_TEST(told(snapshot()) == std::to_string(sizeof shared.words));
}

// The counter alone takes longer than no time.
BOOST_AUTO_TEST_CASE(a_peer_that_is_too_slow_is_told_apart) {
  publish();
  BOOST_REQUIRE_EQUAL(told(snapshot()), std::to_string(sizeof shared.words));
  for (int i = 0; i < 100; ++i) BOOST_REQUIRE_EQUAL(told(snapshot(0)), "ETIMEDOUT");
  BOOST_TEST(stats_of(pair.right).snapshot_retries == 0U);
}

BOOST_AUTO_TEST_CASE(a_signal_ends_the_wait) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, nullptr);
  std::string result;
  WaitingThread reader([&] { result = told(snapshot(-1)); });
  reader.await_sleep();
  reader.interrupt(SIGUSR1);
  reader.join();
  BOOST_TEST(result == "EINTR");
  ::signal(SIGUSR1, SIG_DFL);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
  publish();
  const auto read = [&](int socket, std::size_t length, std::uint64_t offset, std::uint64_t window) {
    return told(exs_recv_window(socket, sink.at(), length, sink.handle(), offset, window, kSecondNs));
  };
  for (const std::uint64_t window : {1U, 4U, 7U}) BOOST_TEST(read(pair.right, 8, 8, window) == "EINVAL");
  BOOST_TEST(read(pair.right, 0, 8, 0) == "EINVAL");
  BOOST_TEST(read(pair.right, 5000, 8, 0) == "EFAULT");
  BOOST_TEST(read(-1, 8, 8, 0) == "EBADF");
  BOOST_TEST(read(pair.right, 8, sizeof(Shared) - 7, 0) == "ERANGE");
  BOOST_TEST(read(pair.right, 8, 8, sizeof(Shared)) == "ERANGE");
  BOOST_TEST(read(pair.right, 8, UINT64_MAX - 3, 0) == "ERANGE");
  BOOST_TEST(read(pair.right, 8, sizeof(Shared) - 8, 0) == "8");
}

BOOST_AUTO_TEST_CASE(no_snapshot_is_torn_by_a_writer_that_never_rests) {
  const int snapshots = snapshots_wished();
  const int raw_reads = snapshots / 10;
  shared.words.fill(0);
  publish();
  int torn_raw = 0;
  int torn = 0;
  std::uint64_t distinct = 0;
  std::uint64_t last = UINT64_MAX;
  std::array<std::uint64_t, kWords> words{};
  const HostileWriter writer(shared);
  // For comparison: without the window the same reads return torn data. That depends on timing, so it is
  // not asserted.
  for (int i = 0; i < raw_reads; ++i) {
    BOOST_REQUIRE_EQUAL(exs_recv_offset(pair.right, sink.at(), sizeof words, 0, queue.handle(), nullptr,
                                        sink.handle(), offsetof(Shared, words)),
                        0);
    BOOST_REQUIRE_EQUAL(queue.next_outcome(pair.right, EXS_EVT_RECV), "0");
    std::memcpy(words.data(), sink.at(), sizeof words);
    if (is_torn(words)) ++torn_raw;
  }
  for (int i = 0; i < snapshots; ++i) {
    BOOST_REQUIRE_EQUAL(snapshot(), static_cast<ssize_t>(sizeof words));
    std::memcpy(words.data(), sink.at(), sizeof words);
    if (is_torn(words)) ++torn;
    if (words[0] != last) ++distinct;
    last = words[0];
  }
  BOOST_TEST_MESSAGE(snapshots << " snapshots, " << distinct << " different, " << torn << " torn; "
                               << writer.updates() << " updates; without the window " << torn_raw << " of "
                               << raw_reads << " reads were torn");
  BOOST_TEST(torn == 0);
  BOOST_TEST(distinct > 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
