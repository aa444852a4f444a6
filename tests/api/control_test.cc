// exs_shutdown_async, exs_close_async, exs_connect_sync, exs_accept_sync, exs_qpost, exs_getlimits.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "tests/support/exs_fixture.h"
#include "tests/support/raw_peer.h"

namespace exs::test {
namespace control_test {

void ignore_signal(int) {}

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  Memory memory{1 << 16};

  Fixture() {
    struct sigaction action {};
    action.sa_handler = ignore_signal;
    ::sigaction(SIGUSR1, &action, nullptr);
  }
  ~Fixture() { ::signal(SIGUSR1, SIG_DFL); }

  std::string receive(int socket) {
    return outcome(exs_recv(socket, memory.at(), 8, 0, queue.handle(), nullptr, memory.handle()));
  }
  std::string send(int socket, int flags = 0) {
    return outcome(exs_send(socket, memory.at(64), 8, flags, queue.handle(), nullptr, memory.handle()));
  }
  int slots() { return attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS); }
};

struct Connected : Fixture {
  Pair pair{queue};
  std::string shut(int socket, int how) {
    return outcome(exs_shutdown_async(socket, how, queue.handle(), &memory));
  }
  std::string close(int socket, int flags = 0) {
    return outcome(exs_close_async(socket, flags, queue.handle(), &memory));
  }
};

}  // namespace control_test

BOOST_AUTO_TEST_SUITE(control_test)

// ---------------------------------------------------------------- shutdown

BOOST_FIXTURE_TEST_CASE(an_asynchronous_shutdown_checks_its_arguments, Connected) {
  for (const int how : {-1, 3}) BOOST_TEST(shut(pair.left, how) == "EINVAL");
  BOOST_TEST(shut(-1, SHUT_WR) == "EBADF");
  BOOST_TEST(outcome(exs_shutdown_async(pair.left, SHUT_WR, EXS_QHANDLE_INVALID, nullptr)) == "EBADF");
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(shut(fresh, SHUT_WR) == "ENOTCONN");
  BOOST_TEST(exs_close(fresh) == 0);
  Queue full(1);
  BOOST_TEST(exs_qpost(full.handle(), nullptr, nullptr) == 0);
  BOOST_TEST(outcome(exs_shutdown_async(pair.left, SHUT_WR, full.handle(), nullptr)) == "EAGAIN");
  BOOST_TEST(send(pair.left) == "ok");  // the socket still sends
}

BOOST_FIXTURE_TEST_CASE(a_shutdown_is_told_once_the_peer_has_been, Connected) {
  for (const int how : {SHUT_WR, SHUT_RD}) {
    BOOST_TEST(shut(pair.left, how) == "ok");
    const exs_event_t event = queue.next_of(pair.left, EXS_EVT_SHUTDOWN);
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(event.exs_evt_ahandle == &memory);
    BOOST_TEST(shut(pair.left, how) == "ok");  // a second shutdown changes nothing
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SHUTDOWN) == "0");
  }
  BOOST_TEST(receive(pair.right) == "ok");
  BOOST_TEST((queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_flags & EXS_EVF_EOF) != 0U);
  BOOST_TEST(slots() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_shutdown_waits_for_the_sends_before_it, Fixture) {
  const Pair pair(queue,
                  [](int number) { BOOST_REQUIRE_EQUAL(exs_fcntl(number, EXS_F_SET_RECV_CREDITS, 1), 0); });
  for (int i = 0; i < 3; ++i) BOOST_TEST(send(pair.left) == "ok");
  BOOST_TEST(exs_shutdown_async(pair.left, SHUT_WR, queue.handle(), nullptr) == 0);
  BOOST_TEST(queue.next().exs_evt_type == EXS_EVT_SEND);
  BOOST_TEST(queue.empty());
  for (int i = 0; i < 3; ++i) BOOST_TEST(receive(pair.right) == "ok");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SHUTDOWN) == "0");
}

BOOST_FIXTURE_TEST_CASE(a_shutdown_that_waits_is_told_of_close_break_and_cancel, Fixture) {
  const auto one_credit = [](int number) {
    BOOST_REQUIRE_EQUAL(exs_fcntl(number, EXS_F_SET_RECV_CREDITS, 1), 0);
  };
  for (const int manner : {0, 1, 2}) {
    const Pair pair(queue, one_credit);
    for (int i = 0; i < 2; ++i) BOOST_TEST(send(pair.left, EXS_NO_IMMEDIATE) == "ok");
    BOOST_TEST(exs_shutdown_async(pair.left, SHUT_WR, queue.handle(), &memory) == 0);
    if (manner == 0) {
      BOOST_TEST(exs_cancel(pair.left, &memory, EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 1);
    } else {
      const int breaks = manner == 1 ? pair.left : pair.right;
      BOOST_TEST(set_option(breaks, EXS_SO_LINGER_MS, 0) == 0);
      BOOST_TEST(exs_close(breaks) == 0);
    }
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SHUTDOWN) == (manner == 2 ? "ECONNRESET" : "ECANCELED"));
  }
}

// ---------------------------------------------------------------- close

BOOST_FIXTURE_TEST_CASE(an_asynchronous_close_checks_its_arguments, Connected) {
  BOOST_TEST(close(-1) == "EBADF");
  BOOST_TEST(close(pair.left, 1) == "EINVAL");
  BOOST_TEST(outcome(exs_close_async(pair.left, 0, EXS_QHANDLE_INVALID, nullptr)) == "EBADF");
  Queue full(1);
  BOOST_TEST(exs_qpost(full.handle(), nullptr, nullptr) == 0);
  BOOST_TEST(outcome(exs_close_async(pair.left, 0, full.handle(), nullptr)) == "EAGAIN");
  BOOST_TEST(send(pair.left) == "ok");
}

BOOST_FIXTURE_TEST_CASE(close_is_the_last_event_and_the_number_is_gone_at_once, Connected) {
  BOOST_TEST(receive(pair.left) == "ok");
  BOOST_TEST(send(pair.left) == "ok");
  BOOST_TEST(close(pair.left) == "ok");
  BOOST_TEST(send(pair.left) == "EBADF");
  BOOST_TEST(close(pair.left) == "EBADF");
  BOOST_TEST(outcome(exs_close(pair.left)) == "EBADF");
  int events = 0;
  for (exs_event_t event = queue.next(); event.exs_evt_type != EXS_EVT_CLOSE; event = queue.next()) ++events;
  BOOST_TEST(events == 2);
  BOOST_TEST(slots() == 0);
}

BOOST_FIXTURE_TEST_CASE(sockets_that_never_connected_or_listen_close_too, Fixture) {
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const int listening = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const int accepting = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(exs_listen(listening, 1) == 0);
  BOOST_TEST(exs_listen(accepting, 1) == 0);
  BOOST_TEST(exs_accept(accepting, nullptr, 0, queue.handle(), nullptr) == 0);
  for (const int socket : {fresh, listening, accepting}) {
    BOOST_TEST(exs_close_async(socket, 0, queue.handle(), &memory) == 0);
    if (socket == accepting) BOOST_TEST(queue.next().exs_evt_type == EXS_EVT_ACCEPT);
    const exs_event_t event = queue.next();
    BOOST_TEST(event.exs_evt_type == EXS_EVT_CLOSE);
    BOOST_TEST(event.exs_evt_socket == socket);
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(event.exs_evt_ahandle == &memory);
  }
}

BOOST_FIXTURE_TEST_CASE(a_close_that_takes_too_long_says_so, Fixture) {
  const ListeningSocket listening;
  RawPeer peer(listening.address());
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  peer.request(honest_hello());
  const int socket =
      queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  BOOST_REQUIRE(peer.take_handshake());
  BOOST_TEST(set_option(socket, EXS_SO_LINGER_MS, 20) == 0);
  BOOST_TEST(exs_close_async(socket, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_CLOSE) == "ETIMEDOUT");
}

BOOST_FIXTURE_TEST_CASE(the_process_counts_what_closed_asynchronously, Connected) {
  BOOST_TEST(receive(pair.right) == "ok");
  BOOST_TEST(send(pair.left) == "ok");
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  for (const int socket : {pair.left, pair.right}) {
    BOOST_TEST(close(socket) == "ok");
    BOOST_TEST(queue.next_outcome(socket, EXS_EVT_CLOSE) == "0");
  }
  const exs_stats_t stats = stats_of(-1);
  BOOST_TEST(stats.sends_done == 1U);
  BOOST_TEST(stats.recvs_done == 1U);
}

// ---------------------------------------------------------------- connect and accept that wait

BOOST_FIXTURE_TEST_CASE(connect_and_accept_may_wait, Fixture) {
  const ListeningSocket listening;
  sockaddr_in address = listening.address();
  int connected = -1;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  WaitingThread connecting([&] { connected = exs_connect_sync(socket, generic(address), sizeof address); });
  sockaddr_in peer{};
  socklen_t length = sizeof peer;
  const int accepted = exs_accept_sync(listening.number(), generic(peer), &length);
  connecting.join();
  BOOST_TEST(accepted >= 0);
  BOOST_TEST(connected == 0);
  sockaddr_in name{};
  socklen_t name_length = sizeof name;
  BOOST_TEST(exs_getsockname(socket, generic(name), &name_length) == 0);
  BOOST_TEST(length == sizeof peer);
  BOOST_TEST(peer.sin_port == name.sin_port);
  BOOST_TEST(outcome(exs_connect_sync(socket, generic(address), sizeof address)) == "EISCONN");
  BOOST_TEST(receive(accepted) == "ok");
  BOOST_TEST(send(socket) == "ok");
  BOOST_TEST(queue.next_outcome(accepted, EXS_EVT_RECV) == "0");
  BOOST_TEST(exs_close(socket) == 0);
  BOOST_TEST(exs_close(accepted) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_waiting_connect_tells_what_its_event_would, Fixture) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in deserted = RawListener().address();
  BOOST_TEST(outcome(exs_connect_sync(-1, generic(deserted), sizeof deserted)) == "EBADF");
  BOOST_TEST(outcome(exs_connect_sync(socket, nullptr, sizeof deserted)) == "EFAULT");
  BOOST_TEST(outcome(exs_connect_sync(socket, generic(deserted), sizeof deserted)) == "ECONNREFUSED");
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_waiting_accept_checks_its_arguments, Fixture) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in peer{};
  BOOST_TEST(outcome(exs_accept_sync(-1, nullptr, nullptr)) == "EBADF");
  BOOST_TEST(outcome(exs_accept_sync(socket, nullptr, nullptr)) == "EINVAL");
  BOOST_TEST(outcome(exs_accept_sync(socket, generic(peer), nullptr)) == "EFAULT");
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_signal_cancels_what_waits, Fixture) {
  const RawListener silent;
  const ListeningSocket listening;
  sockaddr_in address = silent.address();
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  std::string result;
  {
    WaitingThread waiting(
        [&] { result = outcome(exs_connect_sync(socket, generic(address), sizeof address)); });
    waiting.await_sleep();
    waiting.interrupt(SIGUSR1);
  }
  BOOST_TEST(result == "EINTR");
  {
    WaitingThread waiting([&] { result = outcome(exs_accept_sync(listening.number(), nullptr, nullptr)); });
    waiting.await_sleep();
    waiting.interrupt(SIGUSR1);
  }
  BOOST_TEST(result == "EINTR");
  // The interrupted accept is cancelled; a peer that connects now waits for the next accept.
  BOOST_TEST(outcome(exs_cancel(listening.number(), nullptr, EXS_CAF_FILDES)) == "ENOENT");
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_FIXTURE_TEST_CASE(closing_a_listening_socket_ends_an_accept_that_waits, Fixture) {
  const int listening = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(exs_listen(listening, 1) == 0);
  std::string result;
  WaitingThread waiting([&] { result = outcome(exs_accept_sync(listening, nullptr, nullptr)); });
  waiting.await_sleep();
  BOOST_TEST(exs_close(listening) == 0);
  waiting.join();
  BOOST_TEST(result == "ECANCELED");
}

// ---------------------------------------------------------------- posts of the user, limits

BOOST_FIXTURE_TEST_CASE(a_post_of_the_user_carries_five_words, Fixture) {
  const std::uint64_t words[5] = {1, 2, 3, 4, UINT64_MAX};
  BOOST_TEST(outcome(exs_qpost(EXS_QHANDLE_INVALID, nullptr, words)) == "EBADF");
  BOOST_TEST(exs_qpost(queue.handle(), &memory, words) == 0);
  BOOST_TEST(exs_qpost(queue.handle(), nullptr, nullptr) == 0);
  exs_event_t event = queue.next();
  BOOST_TEST(event.exs_evt_type == EXS_EVT_USER);
  BOOST_TEST(event.exs_evt_socket == -1);
  BOOST_TEST(event.exs_evt_errno == 0);
  BOOST_TEST(event.exs_evt_ahandle == &memory);
  BOOST_TEST(std::memcmp(event.exs_evt_union.exs_evt_user, words, sizeof words) == 0);
  event = queue.next();
  for (const std::uint64_t word : event.exs_evt_union.exs_evt_user) BOOST_TEST(word == 0U);
}

BOOST_FIXTURE_TEST_CASE(posts_of_the_user_take_slots_and_wake_waiters, Fixture) {
  Queue small(1, EXS_WAIT_NOTIFY);
  exs_event_t event{};
  int count = 0;
  WaitingThread waiting([&] { count = exs_qdequeue(small.handle(), &event, 1, nullptr); });
  waiting.await_sleep();
  BOOST_TEST(exs_qpost(small.handle(), nullptr, nullptr) == 0);
  waiting.join();
  BOOST_TEST(count == 1);
  BOOST_TEST(exs_qpost(small.handle(), nullptr, nullptr) == 0);
  BOOST_TEST(outcome(exs_qpost(small.handle(), nullptr, nullptr)) == "EAGAIN");
}

BOOST_FIXTURE_TEST_CASE(limits_are_those_of_the_header, Fixture) {
  exs_limits_t limits{};
  BOOST_TEST(outcome(exs_getlimits(nullptr)) == "EFAULT");
  for (const std::size_t room : {0UL, 8UL, 15UL}) {
    limits.struct_bytes = room;
    BOOST_TEST(outcome(exs_getlimits(&limits)) == "EINVAL");
  }
  limits.struct_bytes = sizeof limits + 8;
  BOOST_TEST(exs_getlimits(&limits) == 0);
  BOOST_TEST(limits.struct_bytes == sizeof limits);
  BOOST_TEST(limits.queue_depth_max == std::uint64_t{EXS_QDEPTH_MAX});
  BOOST_TEST(limits.small_bytes_max == std::uint64_t{EXS_SMALL_MAX});
  BOOST_TEST(limits.operations_max == std::uint64_t{EXS_OPS_MAX});
  BOOST_TEST(limits.credits_max == std::uint64_t{EXS_CREDITS_MAX});
  BOOST_TEST(limits.iov_max == std::uint64_t{EXS_IOV_MAX});
  BOOST_TEST(limits.sockets_max > 0U);
  BOOST_TEST(limits.regions_max > 0U);
  BOOST_TEST(limits.queues_max > 0U);
  BOOST_TEST(std::string(limits.providers) == "iwarp,shm,verbs");
  std::memset(&limits, 0x55, sizeof limits);
  limits.struct_bytes = offsetof(exs_limits_t, regions_max);
  BOOST_TEST(exs_getlimits(&limits) == 0);
  BOOST_TEST(limits.regions_max == 0x5555555555555555U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
