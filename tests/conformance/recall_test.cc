// A send that no receive of the peer has met is taken back: by exs_cancel, by a time limit, and by the end of
// a wait.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/support/exs_fixture.h"

namespace data = boost::unit_test::data;

namespace exs::test {
namespace recall_test {

constexpr std::size_t kBytes = 100'000;           // more than any small maximum
constexpr std::int64_t kLimitNs = 1'000'000'000;  // the peer answers in far less, even in a slow guest

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Memory inbox{kBytes};

  std::string send(int socket, Memory& memory, exs_ahandle_t handle = nullptr) {
    return outcome(exs_send(socket, memory.at(), kBytes, 0, queue.handle(), handle, memory.handle()));
  }
  // The next send arrives whole.
  void check_works(const Pair& pair) {
    Memory memory(kBytes);
    memory.fill(7);
    BOOST_TEST(send(pair.left, memory) == "ok");
    BOOST_TEST(outcome(exs_recv(pair.right, inbox.at(), kBytes, MSG_WAITALL, queue.handle(), nullptr,
                                inbox.handle())) == "ok");
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    BOOST_TEST(std::memcmp(inbox.at(), memory.at(), kBytes) == 0);
  }
};

const int kTypes[] = {SOCK_SEQPACKET, SOCK_STREAM};

}  // namespace recall_test

BOOST_AUTO_TEST_SUITE(recall_test)

BOOST_DATA_TEST_CASE_F(Fixture, cancelled_sends_end_and_give_their_memory_back, kTypes, type) {
  const Pair pair(queue, type);
  Memory memory(kBytes);
  memory.fill(1);
  for (int i = 0; i < 10; ++i) BOOST_TEST(send(pair.left, memory) == "ok");
  BOOST_TEST(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES) == 10);
  for (int i = 0; i < 10; ++i) {
    const exs_event_t event = queue.next_of(pair.left, EXS_EVT_SEND);
    BOOST_TEST(errno_name(event.exs_evt_errno) == "ECANCELED");
    BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_length == 0U);
  }
  const exs_mhandle_t again = exs_mregister(memory.at(), kBytes, 0);
  BOOST_TEST(outcome(exs_mderegister(again, 0)) == "ok");
  check_works(pair);
}

BOOST_DATA_TEST_CASE_F(Fixture, one_of_several_is_skipped_by_the_receiver, kTypes, type) {
  const Pair pair(queue, type);
  Memory first(kBytes), second(kBytes), third(kBytes);
  for (Memory* memory : {&first, &second, &third}) {
    memory->fill(static_cast<std::uint32_t>(memory == &first ? 1 : memory == &second ? 2 : 3));
    BOOST_TEST(send(pair.left, *memory, memory) == "ok");
  }
  BOOST_TEST(exs_cancel(pair.left, &second, EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 1);
  const exs_event_t cancelled = queue.next_of(pair.left, EXS_EVT_SEND);
  BOOST_TEST(cancelled.exs_evt_ahandle == static_cast<void*>(&second));
  BOOST_TEST(errno_name(cancelled.exs_evt_errno) == "ECANCELED");
  for (Memory* memory : {&first, &third}) {
    BOOST_TEST(exs_recv_sync(pair.right, inbox.at(), kBytes, MSG_WAITALL, inbox.handle()) ==
               static_cast<ssize_t>(kBytes));
    BOOST_TEST(std::memcmp(inbox.at(), memory->at(), kBytes) == 0);
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  }
}

BOOST_DATA_TEST_CASE_F(Fixture, a_late_send_ends_and_the_connection_lives, kTypes, type) {
  const Pair pair(queue, type);
  Queue notices(4);
  const exs_timeout_t limit = {kLimitNs, EXS_TIMEOUT_CANCEL, notices.handle(), nullptr};
  BOOST_TEST(exs_setsockopt(pair.left, SOL_EXS, SO_ASYNC_SEND_TIMEOUT, &limit, sizeof limit) == 0);
  Memory memory(kBytes);
  for (int i = 0; i < 3; ++i) BOOST_TEST(send(pair.left, memory) == "ok");
  for (int i = 0; i < 3; ++i) BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "ETIMEDOUT");
  const exs_timeout_t none = {};
  BOOST_TEST(exs_setsockopt(pair.left, SOL_EXS, SO_ASYNC_SEND_TIMEOUT, &none, sizeof none) == 0);
  check_works(pair);
}

// Each operation ends once, cancelled or complete, and what was not cancelled arrives.
BOOST_DATA_TEST_CASE_F(Fixture, a_cancel_that_races_with_the_receive_has_one_truth, kTypes, type) {
  const Pair pair(queue, type);
  Memory memory(kBytes);
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) {
      if (exs_cancel(pair.left, nullptr, EXS_CAF_FILDES) < 0) std::this_thread::yield();
    }
  });
  const auto receive = [&] {
    return outcome(
        exs_recv(pair.right, inbox.at(), kBytes, MSG_WAITALL, queue.handle(), nullptr, inbox.handle()));
  };
  int cancelled = 0;
  for (int i = 0; i < 200; ++i) {
    BOOST_REQUIRE_EQUAL(send(pair.left, memory), "ok");
    if (i % 2 == 0) {  // nothing but the cancel can end it
      BOOST_REQUIRE_EQUAL(queue.next_outcome(pair.left, EXS_EVT_SEND), "ECANCELED");
      BOOST_REQUIRE_EQUAL(send(pair.left, memory), "ok");
    }
    BOOST_REQUIRE_EQUAL(receive(), "ok");
    std::string end = queue.next_outcome(pair.left, EXS_EVT_SEND);
    for (; end == "ECANCELED"; end = queue.next_outcome(pair.left, EXS_EVT_SEND)) {
      ++cancelled;
      BOOST_REQUIRE_EQUAL(send(pair.left, memory), "ok");
    }
    BOOST_REQUIRE_EQUAL(end, "0");
    BOOST_REQUIRE_EQUAL(queue.next_outcome(pair.right, EXS_EVT_RECV), "0");
  }
  done = true;
  canceller.join();
  BOOST_TEST_MESSAGE(cancelled << " came back, 200 arrived");
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
