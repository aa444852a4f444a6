// What an idle connection holds: bytes of the heap, as malloc counts them, and pages of its own. Both ends are in this
// process, so a connection here is half of a pair.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace idle_memory_test {

constexpr std::size_t kPairs = 100;
// What a table of the process takes when it grows falls into one of the steps, and the median is another.
constexpr std::size_t kSteps = 5;
constexpr std::size_t kPairsAStep = 40;
constexpr int kRequests = 10;
constexpr std::size_t kBytes = 64;
// Little above what it is, 6,930 bytes, so that a KiB more is a failure. ctest has threads keep no free memory for later
// (GLIBC_TUNABLES), which counts as held, and is more or less by chance. Those of iwarp hold a link, queues of frames and 1 KiB for them.
constexpr std::size_t kHeapBytesMax = 7040;
constexpr std::size_t kHeapBytesMaxIwarp = 7680;
// A page that every eighth connection has touched.
constexpr std::size_t kPageBytesMax = 512;

// Resident bytes of private mappings without a name. The heap has one.
std::size_t unnamed_bytes() {
  std::ifstream maps("/proc/self/smaps");
  std::size_t bytes = 0;
  bool is_counted = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(':') && line.find('-') < line.find(' ')) {
      is_counted =
          line.find("rw-p 00000000 00:00 0") != std::string::npos && line.find('[') == std::string::npos;
    } else if (is_counted && line.starts_with("Rss:")) {
      bytes += std::stoul(line.substr(4)) * 1024;
    }
  }
  return bytes;
}

std::size_t heap_bytes() {
  const struct mallinfo2 held = ::mallinfo2();
  return held.uordblks + held.hblkhd;
}

std::size_t median(std::vector<std::size_t> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Connections that have exchanged some messages and rest, each end with a receive posted, as those of a server are.
class Crowd {
 public:
  void grow_to(std::size_t pairs) {
    const std::size_t before = pairs_.size();
    while (pairs_.size() < pairs) pairs_.push_back(std::make_unique<Pair>(queue_));
    for (std::size_t i = before; i < pairs; ++i) use(*pairs_[i]);
    sleep_once();
  }
  [[nodiscard]] std::string provider() const { return provider_of(pairs_.front()->left); }

 private:
  void use(const Pair& pair) {
    for (int i = 0; i < kRequests; ++i) {
      exchange(pair.left, pair.right);
      exchange(pair.right, pair.left);
    }
    receive(pair.right);
  }
  // A thread that is about to sleep drops the timers that nobody needs any more, and with them what is left of the connects.
  void sleep_once() {
    exs_event_t event;
    const timeval moment{0, 1000};
    BOOST_REQUIRE_EQUAL(exs_qdequeue(queue_.handle(), &event, 1, &moment), 0);
  }
  void receive(int socket) {
    BOOST_REQUIRE_EQUAL(
        exs_recv(socket, memory_.at(kBytes), kBytes, 0, queue_.handle(), nullptr, memory_.handle()), 0);
  }
  void exchange(int from, int to) {
    receive(to);
    BOOST_REQUIRE_EQUAL(exs_send(from, memory_.at(), kBytes, 0, queue_.handle(), nullptr, memory_.handle()),
                        0);
    queue_.next_of(to, EXS_EVT_RECV);
    queue_.next_of(from, EXS_EVT_SEND);
  }

  InitializedLibrary library_;
  Queue queue_{4 * (kPairs + kSteps * kPairsAStep)};
  Memory memory_{2 * kBytes};
  std::vector<std::unique_ptr<Pair>> pairs_;
};

}  // namespace idle_memory_test

BOOST_AUTO_TEST_SUITE(idle_memory_test)

BOOST_AUTO_TEST_CASE(an_idle_connection_holds_little_memory) {
  if (kSanitized) return;     // their heap is another one
  ::mallopt(M_ARENA_MAX, 1);  // the heaps of other threads would have no name
  Crowd crowd;
  crowd.grow_to(kPairs);  // and with it the tables of the process
  const std::string provider = crowd.provider();
  if (provider == "verbs") return;  // a queue pair is the driver's
  std::vector<std::size_t> heap_steps;
  std::vector<std::size_t> page_steps;
  for (std::size_t step = 1; step <= kSteps; ++step) {
    const std::size_t heap = heap_bytes();
    const std::size_t unnamed = unnamed_bytes();
    crowd.grow_to(kPairs + step * kPairsAStep);
    heap_steps.push_back((heap_bytes() - heap) / (2 * kPairsAStep));
    page_steps.push_back((unnamed_bytes() - unnamed) / (2 * kPairsAStep));
  }
  BOOST_TEST_MESSAGE("heap " << median(heap_steps) << ", pages " << median(page_steps));
  BOOST_TEST(median(heap_steps) <= (provider == "iwarp" ? kHeapBytesMaxIwarp : kHeapBytesMax));
  BOOST_TEST(median(page_steps) <= kPageBytesMax);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
