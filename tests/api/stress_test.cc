// Exactly one event for each accepted operation, none for a refused one, while threads post, close and break
// off connections at random. Prints its seed; EXS_TEST_SEED repeats a run.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace stress_test {

constexpr std::size_t kPairs = 6;
constexpr std::size_t kBufferBytes = 16'384;
constexpr std::size_t kBuffers = 384;
constexpr int kPosters = 2;
constexpr int kPostsEach = 4000;
constexpr int kCloses = 60;

using Random = std::mt19937;

std::uint32_t seed_of_this_run() {
  const char* wish = std::getenv("EXS_TEST_SEED");
  const std::uint32_t seed =
      wish != nullptr ? static_cast<std::uint32_t>(std::strtoul(wish, nullptr, 10)) : std::random_device()();
  std::printf("EXS_TEST_SEED=%u\n", seed);
  return seed;
}

std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

// A message that can be checked by itself: a key, then bytes that depend on the key and their offset.
void write_message(std::byte* into, std::size_t length_bytes, std::uint32_t key) {
  for (std::size_t i = 0; i < length_bytes; ++i) into[i] = static_cast<std::byte>(key + i * 7);
  if (length_bytes >= sizeof key) std::memcpy(into, &key, sizeof key);
}

bool message_is_whole(const std::byte* from, std::size_t length_bytes) {
  std::uint32_t key = 0;
  if (length_bytes < sizeof key) return true;
  std::memcpy(&key, from, sizeof key);
  for (std::size_t i = sizeof key; i < length_bytes; ++i) {
    if (from[i] != static_cast<std::byte>(key + i * 7)) return false;
  }
  return true;
}

struct Operation {
  std::size_t buffer = 0;
  bool receives = false;
  bool accepted = false;  // written by the thread that posts it
  std::atomic<int> events{0};
};

class Stress {
 public:
  explicit Stress(std::uint32_t seed) : seed_(seed), operations_(kPosters * kPostsEach) {
    for (std::size_t i = 0; i < kBuffers; ++i) free_.push_back(i);
  }

  void run() {
    Queue control;
    for (auto& pair : pairs_) connect(control, pair);
    std::vector<std::thread> drainers;
    for (Queue& queue : queues_) drainers.emplace_back([&] { drain(queue); });
    std::vector<std::thread> others;
    for (std::uint32_t i = 0; i < kPosters; ++i) others.emplace_back([this, i] { post_at_random(i); });
    others.emplace_back([this] { close_at_random(); });
    for (std::thread& other : others) other.join();
    for (auto& pair : pairs_) {
      for (const auto& socket : pair) close(socket);
    }
    all_posted_ = true;
    for (std::thread& drainer : drainers) drainer.join();
    check();
  }

 private:
  using Sockets = std::array<std::atomic<int>, 2>;

  static int socket_with_short_linger(int linger_ms) {
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    set_option(socket, EXS_SO_LINGER_MS, linger_ms);
    return socket;
  }

  static void connect(Queue& control, Sockets& pair) {
    const int listening = socket_with_short_linger(20);
    const int connecting = socket_with_short_linger(20);
    sockaddr_in address = loopback();
    socklen_t length = sizeof address;
    exs_bind(listening, generic(address), length);
    exs_listen(listening, 1);
    exs_getsockname(listening, generic(address), &length);
    exs_accept(listening, nullptr, 0, control.handle(), nullptr);
    exs_connect(connecting, generic(address), length, 0, control.handle(), nullptr);
    const exs_event_t accepted = control.next_of(listening, EXS_EVT_ACCEPT);
    control.next_of(connecting, EXS_EVT_CONNECT);
    exs_close(listening);
    pair[0] = connecting;
    pair[1] = accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  }

  void close(int socket) {
    if (exs_close(socket) != 0 && errno != ETIMEDOUT) ++surprises_;
  }

  void post_at_random(std::uint32_t poster) {
    Random random(seed_ + poster);
    for (std::size_t i = 0; i < kPostsEach; ++i) {
      Operation& operation = operations_[poster * kPostsEach + i];
      operation.buffer = take_buffer();
      operation.receives = below(random, 2) == 0;
      const int socket = pairs_[below(random, kPairs)][below(random, 2)];
      Queue& queue = queues_[below(random, queues_.size())];
      std::byte* const buffer = memory_.at(operation.buffer * kBufferBytes);
      // Before the post, for the event may come before it returns.
      operation.accepted = true;
      ++accepted_;
      int result = 0;
      if (operation.receives) {
        result = exs_recv(socket, buffer, kBufferBytes, 0, queue.handle(), &operation, memory_.handle());
      } else {
        const std::size_t length = below(random, 3) == 0 ? below(random, kBufferBytes) : below(random, 200);
        write_message(buffer, length, static_cast<std::uint32_t>(random()));
        const int flags = below(random, 4) == 0 ? EXS_NO_IMMEDIATE : 0;
        result = exs_send(socket, buffer, length, flags, queue.handle(), &operation, memory_.handle());
      }
      if (result == 0) continue;
      const int error = errno;
      if (error != EAGAIN && error != ENOTCONN && error != EPIPE && error != EBADF) ++surprises_;
      operation.accepted = false;
      --accepted_;
      give_buffer(operation.buffer);
    }
  }

  // Closes one end or both and puts a new connection in their place.
  void close_at_random() {
    Random random(seed_ + 1000);
    Queue control;
    for (int i = 0; i < kCloses; ++i) {
      Sockets& pair = pairs_[below(random, kPairs)];
      const int left = pair[0];
      const int right = pair[1];
      Sockets fresh{};
      connect(control, fresh);
      const std::size_t manner = below(random, 4);
      if (manner == 0) set_option(left, EXS_SO_LINGER_MS, 0);
      if (manner == 1) exs_shutdown(right, static_cast<int>(below(random, 3)));
      std::thread other([&] { close(manner == 2 ? right : left); });
      close(manner == 2 ? left : right);
      other.join();
      pair[0] = fresh[0].load();
      pair[1] = fresh[1].load();
    }
  }

  void drain(Queue& queue) {
    exs_event_t events[32];
    while (!all_posted_ || ended_ < accepted_) {
      const int count = exs_qwait(queue.handle(), events, 32, 1, 1'000'000);
      for (int i = 0; i < count; ++i) take_event(events[i]);
      if (count < 0) ++surprises_;
    }
  }

  void take_event(const exs_event_t& event) {
    auto& operation = *static_cast<Operation*>(event.exs_evt_ahandle);
    const auto& transfer = event.exs_evt_union.exs_evt_xfer;
    std::byte* const buffer = memory_.at(operation.buffer * kBufferBytes);
    ++operation.events;
    const int type = operation.receives ? EXS_EVT_RECV : EXS_EVT_SEND;
    if (event.exs_evt_type != type || transfer.exs_evt_buf != buffer) ++surprises_;
    if (operation.receives && event.exs_evt_errno == 0 &&
        !message_is_whole(buffer, transfer.exs_evt_length)) {
      ++surprises_;
    }
    give_buffer(operation.buffer);
    ++ended_;
  }

  std::size_t take_buffer() {
    for (;;) {
      {
        const std::lock_guard guard(mutex_);
        if (!free_.empty()) {
          const std::size_t buffer = free_.back();
          free_.pop_back();
          return buffer;
        }
      }
      std::this_thread::yield();
    }
  }
  void give_buffer(std::size_t buffer) {
    const std::lock_guard guard(mutex_);
    free_.push_back(buffer);
  }

  void check() {
    std::size_t wrong = 0;
    for (const Operation& operation : operations_) wrong += operation.events != (operation.accepted ? 1 : 0);
    BOOST_TEST(wrong == 0U);
    BOOST_TEST(surprises_ == 0);
    BOOST_TEST(free_.size() == kBuffers);
    BOOST_TEST(accepted_ > 100);
    for (const Queue& queue : queues_) BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
    BOOST_TEST(exs_mderegister(memory_.handle(), 0) == 0);
  }

  const std::uint32_t seed_;
  std::array<Queue, 2> queues_;
  Memory memory_{kBuffers * kBufferBytes};
  std::array<Sockets, kPairs> pairs_;
  std::vector<Operation> operations_;
  std::atomic<int> accepted_{0};
  std::atomic<int> ended_{0};
  std::atomic<int> surprises_{0};
  std::atomic<bool> all_posted_{false};
  std::mutex mutex_;
  std::vector<std::size_t> free_;
};

void run_with_shards(const char* shards) {
  ::setenv("EXS_SHARDS", shards, 1);
  {
    const InitializedLibrary library;
    Stress(seed_of_this_run()).run();
  }
  ::unsetenv("EXS_SHARDS");
}

// This test breaks connections all the time, so only errors are logged.
struct QuietLog {
  QuietLog() { ::setenv("EXS_LOG", "error", 0); }
};

}  // namespace stress_test

BOOST_AUTO_TEST_SUITE(stress_test, *boost::unit_test::fixture<QuietLog>())

BOOST_AUTO_TEST_CASE(every_operation_ends_in_one_event_on_one_shard) {
  run_with_shards("1");
}
BOOST_AUTO_TEST_CASE(every_operation_ends_in_one_event_on_four_shards) {
  run_with_shards("4");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
