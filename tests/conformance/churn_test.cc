// Connections that come and go, some of them half open, some with operations under way: what they took is given back.
// Heap, mappings and descriptors after so many are those after half as many.
//   tests-conformance --run_test=churn_test -- --rounds 5000
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <malloc.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace churn_test {

constexpr int kConnectionsPerRound = 4;
// A leak of 66 bytes a connection is more. A table may double once (48 KiB); threads keep memory for their next
// allocations, up to 90 KiB, but for GLIBC_TUNABLES=glibc.malloc.tcache_count=0, as ctest has it: then it is mostly 0.
constexpr std::size_t kHeapGrowthMax = 64 * 1024;
constexpr std::size_t kMappingGrowthMax = 2;
constexpr std::uint64_t kUnchangedNs = 100 * kNsPerMs;
constexpr std::uint64_t kRestLimitNs = 20'000 * kNsPerMs;
constexpr int kBytes = 100'000;

int rounds_wanted() {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; ++i) {
    if (std::string_view(suite.argv[i]) == "--rounds") return std::atoi(suite.argv[i + 1]);
  }
  // siw connects from a port that the kernel has not chosen: one of a thousand connections meets a port that is still
  // in TIME-WAIT, and ends with EADDRINUSE.
  const char* const provider = std::getenv("EXS_PROVIDER");
  if (provider != nullptr && std::string_view(provider) == "verbs") return 10;
  return kSanitized ? 25 : 250;
}

struct Usage {
  std::size_t heap_bytes = 0;
  std::size_t mappings = 0;
  std::size_t descriptors = 0;
  bool operator==(const Usage&) const = default;
};

Usage usage_now() {
  Usage usage;
  if (!kSanitized) {  // its allocator is another one
    const struct mallinfo2 heap = ::mallinfo2();
    usage.heap_bytes = heap.uordblks + heap.hblkhd;
  }
  {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    while (std::getline(maps, line)) ++usage.mappings;
  }
  if (kSanitized) usage.mappings = 0;
  usage.descriptors = open_descriptors();
  return usage;
}

// Engines give back what was closed a moment later: at rest, nothing has changed for a while.
Usage usage_at_rest() {
  const std::uint64_t gives_up_ns = monotonic_ns() + kRestLimitNs;
  Usage usage = usage_now();
  std::uint64_t since_ns = monotonic_ns();
  while (monotonic_ns() - since_ns < kUnchangedNs && monotonic_ns() < gives_up_ns) {
    ::sched_yield();
    const Usage now = usage_now();
    if (now != usage) since_ns = monotonic_ns();
    usage = now;
  }
  return usage;
}

struct Churn {
  InitializedLibrary library;
  Queue queue{64};
  Memory source{kBytes};
  Memory sink{kBytes};

  void take_events(int count) {
    std::array<exs_event_t, 16> events;
    BOOST_REQUIRE_EQUAL(exs_qwait(queue.handle(), events.data(), count, count,
                                  std::int64_t{kHangLimitSeconds} * 1'000'000'000),
                        count);
  }
  void receive(int socket, int flags = 0) {
    BOOST_REQUIRE_EQUAL(exs_recv(socket, sink.at(), kBytes, flags, queue.handle(), nullptr, sink.handle()),
                        0);
  }
  void send(int socket, int flags = 0) {
    BOOST_REQUIRE_EQUAL(
        exs_send(socket, source.at(), kBytes, flags, queue.handle(), nullptr, source.handle()), 0);
  }

  void one_that_is_used() {
    const Pair pair(queue);
    receive(pair.right);
    send(pair.left);
    take_events(2);
  }
  // Sends that wait to be read, and receives that wait for something.
  void one_with_operations_under_way(bool sends) {
    {
      const Pair pair(queue, [](int socket) { set_option(socket, EXS_SO_LINGER_MS, 0); });
      if (sends) {
        send(pair.left);
        send(pair.right, EXS_PERSISTENT);
      } else {
        receive(pair.left);
        receive(pair.right, EXS_PERSISTENT);
      }
    }
    take_events(2);
  }
  // The peer says nothing, or half of a request, and goes.
  static void one_that_stays_half_open(int round) {
    const ListeningSocket listening;
    sockaddr_in address = listening.address();
    const UniqueFd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(peer.get(), generic(address), sizeof address) != 0)
      return;  // verbs alone listens elsewhere
    if (round % 2 == 0) {
      [[maybe_unused]] const auto sent = ::send(peer.get(), "MPA ID Req", 10, MSG_NOSIGNAL);
    }
    const linger reset{1, 0};
    if (round % 3 == 0) ::setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  void one_that_nobody_accepts() {
    {
      const ListeningSocket listening;
      sockaddr_in address = listening.address();
      const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
      BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr),
                          0);
      BOOST_REQUIRE_EQUAL(exs_close(socket), 0);
    }
    take_events(1);
  }
  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      one_that_is_used();
      one_with_operations_under_way(i % 2 == 0);
      one_that_stays_half_open(i);
      one_that_nobody_accepts();
    }
  }
};

}  // namespace churn_test

BOOST_AUTO_TEST_SUITE(churn_test)

BOOST_FIXTURE_TEST_CASE(what_connections_took_is_given_back, Churn) {
  const int count = rounds_wanted();
  rounds(count);  // whatever is kept for later has been made by then
  const Usage before = usage_at_rest();
  rounds(count);
  const Usage after = usage_at_rest();
  std::printf(
      "after %d connections: %zu bytes of heap, %zu mappings, %zu descriptors; after %d: %zu, %zu, %zu\n",
      count * kConnectionsPerRound, before.heap_bytes, before.mappings, before.descriptors,
      2 * count * kConnectionsPerRound, after.heap_bytes, after.mappings, after.descriptors);
  BOOST_TEST(after.heap_bytes <= before.heap_bytes + kHeapGrowthMax);
  BOOST_TEST(after.mappings <= before.mappings + kMappingGrowthMax);
  BOOST_TEST(after.descriptors == before.descriptors);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
