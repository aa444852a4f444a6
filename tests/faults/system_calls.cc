// The system calls of a message of the steady state, both ends on one thread, so that what a message costs does not depend on who
// waits for whom. perf/README has the same figures.
// SPDX-License-Identifier: BSD-2-Clause
#define BOOST_TEST_MODULE system_calls
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tests/support/counting_kernel.h"
#include "tests/support/environment_setting.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace {

namespace data = boost::unit_test::data;

struct Path {
  const char* name;
  int type;
  int wait;
  int flags;         // of the sends
  bool is_answered;  // by a message the other way, as soon as it has come
  bool is_far;       // the operations name a queue of another shard than the connection's
  // Calls a message, at most.
  double shm_direct;
  double shm_copied;
  double iwarp;
};
// One call more for each message is more than any of them allows.
const Path kPaths[] = {
    {"immediate, polling", SOCK_SEQPACKET, EXS_WAIT_BUSY_POLL, 0, false, false, 0.9, 0.9, 3.9},
    {"immediate, asleep", SOCK_SEQPACKET, EXS_WAIT_NOTIFY, 0, false, false, 0.9, 0.9, 4.9},
    {"normal, polling", SOCK_SEQPACKET, EXS_WAIT_BUSY_POLL, EXS_NO_IMMEDIATE, false, false, 0.9, 0.9, 12.9},
    {"normal, answered, polling", SOCK_SEQPACKET, EXS_WAIT_BUSY_POLL, EXS_NO_IMMEDIATE, true, false, 0.9, 0.9,
     9.9},
    {"normal, asleep", SOCK_SEQPACKET, EXS_WAIT_NOTIFY, EXS_NO_IMMEDIATE, false, false, 1.9, 3.9, 16.9},
    {"immediate, of another shard, polling", SOCK_SEQPACKET, EXS_WAIT_BUSY_POLL, 0, false, true, 0.9, 0.9,
     3.9},
    {"stream, polling", SOCK_STREAM, EXS_WAIT_BUSY_POLL, 0, false, false, 0.9, 0.9, 3.9},
};
std::ostream& operator<<(std::ostream& out, const Path& path) {
  return out << path.name;
}

constexpr std::size_t kBytes = 64;
constexpr int kWarmUp = 500;
// An acknowledgement waits for its answer while the engine stands by, and on a busy machine that thread has no processor for most
// of the time; where both ends sleep, who comes late is woken once more. So the tries are short and many, for one of them to be
// undisturbed from end to end.
constexpr int kMessages = 250;
constexpr int kTries = 80;

class Exchange {
 public:
  explicit Exchange(const Path& path)
      : path_(path),
        queue_(64, path.wait),
        of_connection_(64),
        pair_(path.is_far ? of_connection_ : queue_, path.type) {}
  void run(int messages) {
    for (int i = 0; i < messages; ++i) {
      const bool is_answer = path_.is_answered && i % 2 == 1;
      is_answer ? post(pair_.right, pair_.left) : post(pair_.left, pair_.right);
      if (path_.is_answered) {
        await_receive();
      } else {
        await(2);
      }
    }
    if (path_.is_answered) await(std::exchange(open_sends_, 0));
  }

 private:
  void post(int from, int to) {
    require(exs_recv(to, memory_.at(kRoom), kBytes, MSG_WAITALL, queue_.handle(), nullptr,
                     memory_.handle()) == 0);
    require(exs_send(from, memory_.at(), kBytes, path_.flags, queue_.handle(), nullptr, memory_.handle()) ==
            0);
  }
  void await(int count) {
    exs_event_t events[4];
    require(exs_qwait(queue_.handle(), events, count, count, -1) == count);
    for (int i = 0; i < count; ++i) require(events[i].exs_evt_errno == 0);
  }
  // As a program that answers does: the events of its sends come along.
  void await_receive() {
    exs_event_t event;
    ++open_sends_;
    do {
      require(exs_qwait(queue_.handle(), &event, 1, 1, -1) == 1 && event.exs_evt_errno == 0);
      if (event.exs_evt_type == EXS_EVT_SEND) --open_sends_;
    } while (event.exs_evt_type == EXS_EVT_SEND);
  }
  static void require(bool held) {
    if (!held) throw std::runtime_error("a call or an operation failed");
  }

  static constexpr std::size_t kRoom = 4096;
  const Path path_;
  const EnvironmentSetting shards_{"EXS_SHARDS", "2"};
  InitializedLibrary library_;
  Queue queue_;
  Queue of_connection_;  // its home is another shard
  Memory memory_{2 * kRoom};
  Pair pair_;
  int open_sends_ = 0;
};

bool is_set(const char* variable, std::string_view value) {
  const char* const text = std::getenv(variable);
  return text != nullptr && value == text;
}

double most_of(const Path& path) {
  if (!is_set("EXS_PROVIDER", "shm")) return path.iwarp;
  return is_set("EXS_SHM_PROCESS_VM", "0") ? path.shm_copied : path.shm_direct;
}

// A thread that polls asks its descriptors by the clock, whatever the messages.
bool is_by_clock(const Path& path, std::string_view call) {
  return path.wait == EXS_WAIT_BUSY_POLL && call == "epoll_wait";
}

double calls_of_a_message(Exchange& exchange, const Path& path) {
  count_kernel_calls();
  exchange.run(kMessages);
  double all = 0;
  for (const auto& [call, count] : counted_kernel_calls()) {
    const double each = static_cast<double>(count) / kMessages;
    BOOST_TEST_MESSAGE(call << ' ' << each);
    if (!is_by_clock(path, call)) all += each;
  }
  return all;
}

}  // namespace

BOOST_DATA_TEST_CASE(a_message_of_the_steady_state_makes_no_more_calls_than_are_written_down,
                     data::make(kPaths), path) {
  Exchange exchange(path);
  exchange.run(kWarmUp);
  double least = most_of(path) + 1;
  for (int i = 0; i < kTries && least > most_of(path); ++i)
    least = std::min(least, calls_of_a_message(exchange, path));
  BOOST_TEST(least <= most_of(path));
}

}  // namespace exs::test
