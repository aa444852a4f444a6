// No message of the steady state makes an allocation, on whichever thread.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include "tests/support/exs_fixture.h"
#include "tests/support/failing_allocations.h"

namespace exs::test {
namespace {

namespace data = boost::unit_test::data;

struct Path {
  const char* name;
  int type;
  std::size_t bytes;
  int flags;        // of the sends
  bool persistent;  // the peer reads one send again and again
};
const Path kPaths[] = {
    {"immediate messages", SOCK_SEQPACKET, 64, 0, false},
    {"normal messages", SOCK_SEQPACKET, 64, EXS_NO_IMMEDIATE, false},
    {"long messages", SOCK_SEQPACKET, 65'536, EXS_NO_IMMEDIATE, false},
    {"a stream", SOCK_STREAM, 64, 0, false},
    {"reads of persistent memory", SOCK_SEQPACKET, 4096, 0, true},
};
std::ostream& operator<<(std::ostream& out, const Path& path) {
  return out << path.name;
}

// What grows with the first messages has grown by then; what grows with how the threads take turns may do so once more.
constexpr int kWarmUp = 500;
constexpr int kRounds = 1000;
constexpr std::uint32_t kGrowths = 20;

class Exchange {
 public:
  explicit Exchange(const Path& path) : path_(path), pair_(queue_, path.type) {
    if (!path.persistent) return;
    const int flags = EXS_PERSISTENT;
    BOOST_REQUIRE_EQUAL(
        exs_send(pair_.left, memory_.at(), path.bytes, flags, queue_.handle(), nullptr, memory_.handle()), 0);
  }
  void run(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      receive();
      if (!path_.persistent) send();
      take(path_.persistent ? 1 : 2);
    }
  }

 private:
  void receive() {
    const CountedCall counted;
    require(exs_recv(pair_.right, memory_.at(kRoom), path_.bytes, MSG_WAITALL, queue_.handle(), nullptr,
                     memory_.handle()) == 0);
  }
  void send() {
    const CountedCall counted;
    require(exs_send(pair_.left, memory_.at(), path_.bytes, path_.flags, queue_.handle(), nullptr,
                     memory_.handle()) == 0);
  }
  void take(int events) {
    exs_event_t event;
    for (int i = 0; i < events; ++i) {
      const CountedCall counted;
      require(exs_qdequeue(queue_.handle(), &event, 1, nullptr) == 1 && event.exs_evt_errno == 0);
    }
  }
  static void require(bool held) {
    if (!held) throw std::runtime_error("a call or an operation failed");
  }

  static constexpr std::size_t kRoom = 1 << 17;
  const Path path_;
  InitializedLibrary library_;
  Queue queue_{64};
  Memory memory_{2 * kRoom};
  Pair pair_;
};

}  // namespace

BOOST_DATA_TEST_CASE(no_message_of_the_steady_state_allocates, data::make(kPaths), path) {
  Exchange exchange(path);
  exchange.run(kWarmUp);
  count_allocations({});
  exchange.run(kRounds);
  stop_counting_allocations();
  BOOST_TEST(counted_allocations() < kGrowths);
}

}  // namespace exs::test
