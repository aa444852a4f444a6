// SO_ASYNC_SEND_TIMEOUT, SO_ASYNC_RECV_TIMEOUT: notices of late operations, and what EXS_TIMEOUT_CANCEL does.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <string>

#include "tests/support/exs_fixture.h"
#include "tests/support/raw_peer.h"

namespace exs::test {
namespace time_limit_test {

constexpr std::int64_t kShortNs = 5'000'000;
constexpr std::int64_t kHourNs = std::int64_t{3600} * 1'000'000'000;

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  Queue notices{2};
  Memory memory{1 << 20};

  std::string limit(int socket, int option, std::int64_t ns, std::uint32_t flags = 0, int level = SOL_EXS) {
    const exs_timeout_t timeout{ns, flags, notices.handle(), &notices};
    return outcome(exs_setsockopt(socket, level, option, &timeout, sizeof timeout));
  }
  std::string receive(int socket, std::size_t length_bytes = 8) {
    return outcome(exs_recv(socket, memory.at(), length_bytes, 0, queue.handle(), nullptr, memory.handle()));
  }
  std::string send(int socket, std::size_t length_bytes = 8, int flags = 0) {
    return outcome(
        exs_send(socket, memory.at(1 << 19), length_bytes, flags, queue.handle(), nullptr, memory.handle()));
  }
  std::uint32_t told(int socket, int type) {
    const exs_event_t event = notices.next_of(socket, type);
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(event.exs_evt_ahandle == &notices);
    return event.exs_evt_union.exs_evt_xfer.exs_evt_count;
  }
  int slots() { return attribute(notices.handle(), EXS_QATTR_RESERVED_SLOTS); }
};

struct Connected : Fixture {
  Pair pair{queue};
};

const int kOptions[] = {SO_ASYNC_SEND_TIMEOUT, SO_ASYNC_RECV_TIMEOUT};

}  // namespace time_limit_test

BOOST_AUTO_TEST_SUITE(time_limit_test)

BOOST_FIXTURE_TEST_CASE(arguments_are_checked, Connected) {
  for (const int option : kOptions) {
    BOOST_TEST(limit(pair.left, option, -1) == "EINVAL");
    BOOST_TEST(limit(pair.left, option, 1, 4) == "EINVAL");
    BOOST_TEST(limit(-1, option, 1) == "EBADF");
    exs_timeout_t timeout{1, 0, EXS_QHANDLE_INVALID, nullptr};
    BOOST_TEST(outcome(exs_setsockopt(pair.left, SOL_EXS, option, &timeout, sizeof timeout)) == "EBADF");
    BOOST_TEST(outcome(exs_setsockopt(pair.left, SOL_EXS, option, &timeout, sizeof(int))) == "EINVAL");
    socklen_t length = sizeof timeout;
    BOOST_TEST(exs_getsockopt(pair.left, SOL_EXS, option, &timeout, &length) == 0);
    BOOST_TEST(timeout.ns == 0);
  }
  BOOST_TEST(slots() == 0);
}

BOOST_FIXTURE_TEST_CASE(what_was_set_can_be_asked_at_both_levels, Connected) {
  for (const int option : kOptions) {
    for (const int level : {SOL_EXS, SOL_SOCKET}) {
      BOOST_TEST(limit(pair.left, option, kHourNs + level, EXS_TIMEOUT_ONCE, level) == "ok");
      exs_timeout_t timeout{};
      socklen_t length = sizeof timeout;
      BOOST_TEST(exs_getsockopt(pair.left, level, option, &timeout, &length) == 0);
      BOOST_TEST(timeout.ns == kHourNs + level);
      BOOST_TEST(timeout.flags == std::uint32_t{EXS_TIMEOUT_ONCE});
      BOOST_TEST(timeout.queue == notices.handle());
      BOOST_TEST(timeout.handle == &notices);
      BOOST_TEST(limit(pair.left, option, 0) == "ok");
    }
  }
}

BOOST_FIXTURE_TEST_CASE(each_limit_holds_one_slot_until_unset_or_closed, Connected) {
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  for (const int socket : {pair.left, fresh}) {
    BOOST_TEST(limit(socket, SO_ASYNC_SEND_TIMEOUT, kHourNs) == "ok");
    BOOST_TEST(limit(socket, SO_ASYNC_RECV_TIMEOUT, kHourNs) == "ok");
    BOOST_TEST(slots() == 2);
    BOOST_TEST(limit(pair.right, SO_ASYNC_SEND_TIMEOUT, kHourNs) == "EAGAIN");
    BOOST_TEST(outcome(exs_qdelete(notices.handle())) == "EBUSY");
    BOOST_TEST(limit(socket, SO_ASYNC_SEND_TIMEOUT, 0) == "ok");
    BOOST_TEST(slots() == 1);
    BOOST_TEST(exs_close(socket) == 0);
    BOOST_TEST(slots() == 0);
  }
  BOOST_TEST(limit(pair.right, SO_ASYNC_SEND_TIMEOUT, kHourNs) == "ok");
  BOOST_TEST(exs_close_async(pair.right, 0, queue.handle(), nullptr) == 0);
  queue.next_of(pair.right, EXS_EVT_CLOSE);
  BOOST_TEST(slots() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_late_receive_is_told_until_it_ends, Connected) {
  BOOST_TEST(limit(pair.left, SO_ASYNC_RECV_TIMEOUT, kShortNs) == "ok");
  for (int i = 0; i < 3; ++i) BOOST_TEST(receive(pair.left) == "ok");
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t late = told(pair.left, EXS_EVT_RECVTIMEOUT);
    BOOST_TEST((late >= 1 && late <= 3));
  }
  BOOST_TEST(queue.empty());  // the receives stay open
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(send(pair.right) == "ok");
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "0");
  }
}

BOOST_FIXTURE_TEST_CASE(once_is_told_once, Connected) {
  BOOST_TEST(limit(pair.left, SO_ASYNC_RECV_TIMEOUT, kShortNs, EXS_TIMEOUT_ONCE) == "ok");
  BOOST_TEST(receive(pair.left) == "ok");
  BOOST_TEST(told(pair.left, EXS_EVT_RECVTIMEOUT) == 1U);
  exs_event_t event{};
  BOOST_TEST(exs_qwait(notices.handle(), &event, 1, 1, 10 * kShortNs) == 0);
}

BOOST_FIXTURE_TEST_CASE(receives_that_have_not_begun_are_ended_and_the_connection_lives, Connected) {
  BOOST_TEST(limit(pair.left, SO_ASYNC_RECV_TIMEOUT, kShortNs, EXS_TIMEOUT_CANCEL) == "ok");
  for (int i = 0; i < 3; ++i) BOOST_TEST(receive(pair.left) == "ok");
  for (int i = 0; i < 3; ++i) BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "ETIMEDOUT");
  told(pair.left, EXS_EVT_RECVTIMEOUT);
  BOOST_TEST(limit(pair.left, SO_ASYNC_RECV_TIMEOUT, kHourNs, EXS_TIMEOUT_CANCEL) == "ok");
  BOOST_TEST(receive(pair.left) == "ok");
  BOOST_TEST(send(pair.right) == "ok");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "0");
  const exs_stats_t stats = stats_of(pair.left);
  BOOST_TEST(stats.timeouts == 3U);
}

BOOST_FIXTURE_TEST_CASE(sends_without_a_credit_are_ended_and_the_connection_lives, Fixture) {
  const Pair pair(queue,
                  [](int number) { BOOST_REQUIRE_EQUAL(exs_fcntl(number, EXS_F_SET_RECV_CREDITS, 1), 0); });
  BOOST_TEST(send(pair.left) == "ok");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");  // the message has used the credit
  BOOST_TEST(limit(pair.left, SO_ASYNC_SEND_TIMEOUT, kShortNs, EXS_TIMEOUT_CANCEL) == "ok");
  BOOST_TEST(send(pair.left) == "ok");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "ETIMEDOUT");
  told(pair.left, EXS_EVT_SENDTIMEOUT);
  BOOST_TEST(receive(pair.right) == "ok");
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  BOOST_TEST(receive(pair.right) == "ok");
  BOOST_TEST(send(pair.left) == "ok");
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
}

// The peer takes the advert, and never says whether it gives it back.
BOOST_FIXTURE_TEST_CASE(a_send_that_the_peer_may_have_begun_with_ends_the_connection, Fixture) {
  for (const std::uint32_t once : {0U, static_cast<std::uint32_t>(EXS_TIMEOUT_ONCE)}) {
    const ListeningSocket listening;
    BOOST_TEST(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr) == 0);
    RawPeer peer(listening.address());
    peer.connect_as_exs();
    const int accepted =
        queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
    BOOST_TEST(limit(accepted, SO_ASYNC_SEND_TIMEOUT, kShortNs, EXS_TIMEOUT_CANCEL | once) == "ok");
    BOOST_TEST(receive(accepted) == "ok");
    BOOST_TEST(send(accepted, 8, EXS_NO_IMMEDIATE) == "ok");
    BOOST_TEST(queue.next_outcome(accepted, EXS_EVT_SEND) == "ETIMEDOUT");
    BOOST_TEST(queue.next_outcome(accepted, EXS_EVT_RECV) == "ETIMEDOUT");
    told(accepted, EXS_EVT_SENDTIMEOUT);
    BOOST_TEST(receive(accepted) == "ENOTCONN");
    BOOST_TEST(outcome(exs_close(accepted)) == "ok");
  }
}

BOOST_FIXTURE_TEST_CASE(limits_set_before_the_connection_hold_for_it, Fixture) {
  static Fixture* fixture = nullptr;
  fixture = this;
  const Pair pair(queue, [](int number) {
    BOOST_REQUIRE_EQUAL(fixture->limit(number, SO_ASYNC_RECV_TIMEOUT, kShortNs), "ok");
  });
  // The connecting socket has a slot of the queue. The accepted one has the slot of the listening socket, or
  // none.
  BOOST_TEST(receive(pair.left) == "ok");
  told(pair.left, EXS_EVT_RECVTIMEOUT);
  exs_timeout_t timeout{};
  socklen_t length = sizeof timeout;
  BOOST_TEST(exs_getsockopt(pair.right, SOL_EXS, SO_ASYNC_RECV_TIMEOUT, &timeout, &length) == 0);
  BOOST_TEST(timeout.ns == kShortNs);
}

BOOST_FIXTURE_TEST_CASE(accepted_sockets_inherit_with_a_slot_of_their_own, Fixture) {
  const ListeningSocket listening;
  BOOST_TEST(limit(listening.number(), SO_ASYNC_RECV_TIMEOUT, kShortNs, EXS_TIMEOUT_CANCEL) == "ok");
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address = listening.address();
  BOOST_TEST(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr) == 0);
  const int accepted =
      queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  BOOST_TEST(slots() == 2);
  BOOST_TEST(receive(accepted) == "ok");
  told(accepted, EXS_EVT_RECVTIMEOUT);
  BOOST_TEST(queue.next_outcome(accepted, EXS_EVT_RECV) == "ETIMEDOUT");
  BOOST_TEST(exs_close(accepted) == 0);
  BOOST_TEST(slots() == 1);
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
