// Every operation ends in exactly one event with the right errno: each way to post is combined with each
// ending.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstdint>

#include "tests/conformance/transfer_calls.h"

namespace data = boost::unit_test::data;

namespace exs::test {
namespace endings_test {

constexpr std::size_t kBytes = 100'000;  // more than any small maximum: a send waits for the peer's receive

int set(int socket, int option, int value) {
  return exs_setsockopt(socket, SOL_EXS, option, &value, sizeof value);
}

struct Fixture {
  InitializedLibrary library;
  Queue queue{1024};
  Queue notices{16};
  Memory memory{kBytes};

  Arguments on(int socket) { return {socket, memory.at(), kBytes, 0, queue.handle(), memory.handle(), this}; }
  // The operation gives this one event and no other, and its slot is free again.
  void check_end(const TransferCall& way, int socket, int error, std::uint32_t flags = 0) {
    const exs_event_t event = queue.next_of(socket, way.event_type);
    BOOST_TEST(errno_name(event.exs_evt_errno) == errno_name(error));
    BOOST_TEST(event.exs_evt_ahandle == static_cast<void*>(this));
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_EOF) == flags);
  }
};

struct Ending {
  const char* what;
  int type;
  int send_error;
  int receive_error;                                    // -1: the end of the peer's sending
  void (*bring_about)(Fixture&, Pair&, int posted_at);  // posted_at: left
};

std::ostream& operator<<(std::ostream& out, const Ending& ending) {
  return out << ending.what << (ending.type == SOCK_STREAM ? ", stream" : ", messages");
}

void close_left(Fixture&, Pair& pair, int) {
  set(pair.left, EXS_SO_LINGER_MS, 0);
  exs_close(pair.left);
}
void break_right(Fixture&, Pair& pair, int) {
  set(pair.right, EXS_SO_LINGER_MS, 0);
  exs_close(pair.right);
}
void close_right(Fixture&, Pair& pair, int) {
  exs_close(pair.right);
}
void cut_time(Fixture& f, Pair& pair, int) {
  // A limit applies to later operations, so the test posts after this call.
  const exs_timeout_t limit = {1'000'000, EXS_TIMEOUT_CANCEL, f.notices.handle(), nullptr};
  exs_setsockopt(pair.left, SOL_EXS, SO_ASYNC_SEND_TIMEOUT, &limit, sizeof limit);
  exs_setsockopt(pair.left, SOL_EXS, SO_ASYNC_RECV_TIMEOUT, &limit, sizeof limit);
}

const Ending kEndings[] = {
    {"our close without lingering", SOCK_SEQPACKET, ECANCELED, ECANCELED, close_left},
    {"our close without lingering", SOCK_STREAM, ECANCELED, ECANCELED, close_left},
    {"the peer breaks off", SOCK_SEQPACKET, ECONNRESET, ECONNRESET, break_right},
    {"the peer breaks off", SOCK_STREAM, ECONNRESET, ECONNRESET, break_right},
    {"the peer closes", SOCK_SEQPACKET, EPIPE, -1, close_right},
    {"the peer closes", SOCK_STREAM, EPIPE, -1, close_right},
};

void check_each_way(Fixture& f, const TransferCall& way, const Ending& ending) {
  Pair pair(f.queue, ending.type);
  Vector vector;
  const int posted_at = pair.left;
  BOOST_REQUIRE_EQUAL(way.post(f.on(posted_at), vector), 0);
  ending.bring_about(f, pair, posted_at);
  const int error = way.sends ? ending.send_error : ending.receive_error;
  f.check_end(way, posted_at, error < 0 ? 0 : error, error < 0 ? EXS_EVF_EOF : 0);
}

bool is_plain(const TransferCall& way) {
  return !way.waits && std::string_view(way.function).find("offset") == std::string_view::npos;
}

}  // namespace endings_test

BOOST_FIXTURE_TEST_SUITE(endings_test, Fixture)

// shows: exs_send event ECANCELED ECONNRESET EPIPE, exs_recv event ECANCELED ECONNRESET
BOOST_DATA_TEST_CASE(each_operation_ends_with_its_connection,
                     data::make(kTransferCalls) * data::make(kEndings), way, ending) {
  if (is_plain(way)) check_each_way(*this, way, ending);
}

// shows: exs_send_offset event ECANCELED ECONNRESET EPIPE, exs_recv_offset event ECANCELED ECONNRESET
BOOST_DATA_TEST_CASE(so_does_what_waits_for_a_persistent_operation,
                     data::make(kTransferCalls) * data::make(kEndings), way, ending) {
  if (way.waits || is_plain(way) || ending.type == SOCK_STREAM) return;
  check_each_way(*this, way, ending);
}

// shows: exs_recv event ETIMEDOUT, exs_send event ETIMEDOUT, exs_send_offset event ETIMEDOUT, exs_recv_offset
// event ETIMEDOUT
BOOST_DATA_TEST_CASE(each_operation_ends_with_its_time_limit,
                     data::make(kTransferCalls) * data::make({SOCK_SEQPACKET, SOCK_STREAM}), way, type) {
  if (way.waits || (type == SOCK_STREAM && !is_plain(way))) return;
  Pair pair(queue, type);
  Vector vector;
  cut_time(*this, pair, pair.left);
  BOOST_REQUIRE_EQUAL(way.post(on(pair.left), vector), 0);
  check_end(way, pair.left, ETIMEDOUT);
  const int notice = way.sends ? EXS_EVT_SENDTIMEOUT : EXS_EVT_RECVTIMEOUT;
  BOOST_TEST(notices.next_of(pair.left, notice).exs_evt_union.exs_evt_xfer.exs_evt_count == 1U);
}

BOOST_DATA_TEST_CASE(a_receive_is_cancelled,
                     data::make(kTransferCalls) * data::make({SOCK_SEQPACKET, SOCK_STREAM}) *
                         data::make({EXS_CAF_FILDES, EXS_CAF_AHANDLE, EXS_CAF_FILDES | EXS_CAF_AHANDLE}),
                     way, type, flags) {
  if (way.waits || way.sends || (type == SOCK_STREAM && !is_plain(way))) return;
  const Pair pair(queue, type);
  Vector vector;
  BOOST_REQUIRE_EQUAL(way.post(on(pair.left), vector), 0);
  BOOST_TEST(exs_cancel(pair.left, this, flags) == 1);
  check_end(way, pair.left, ECANCELED);
  BOOST_TEST(outcome(exs_cancel(pair.left, this, flags)) == "ENOENT");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

// With the credit and without it; then the credit is back.
BOOST_DATA_TEST_CASE(a_send_that_waits_is_cancelled, data::make({SOCK_SEQPACKET, SOCK_STREAM}), type) {
  const Pair pair(
      queue, queue, [](int socket) { exs_fcntl(socket, EXS_F_SET_SEND_CREDITS, 1); }, type);
  for (int i = 0; i < 3; ++i) {
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), kBytes, 0, queue.handle(), this, memory.handle()),
                        0);
  }
  BOOST_TEST(exs_cancel(pair.left, this, EXS_CAF_AHANDLE) == 3);
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(errno_name(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno) == "ECANCELED");
  std::vector<std::byte> into(kBytes);
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), kBytes, 0, queue.handle(), this, memory.handle()), 0);
  BOOST_TEST(exs_recv_sync(pair.right, into.data(), kBytes, MSG_WAITALL, EXS_MHANDLE_UNREGISTERED) ==
             static_cast<ssize_t>(kBytes));
  BOOST_TEST(errno_name(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno) == "0");
  BOOST_TEST(queue.empty());
}

// shows: exs_connect event ECANCELED
BOOST_AUTO_TEST_CASE(a_connect_is_cancelled) {
  const ListeningSocket listening;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address = listening.address();
  BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), this), 0);
  BOOST_TEST(exs_cancel(socket, nullptr, EXS_CAF_FILDES) == 1);
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_CONNECT) == "ECANCELED");
  BOOST_TEST(exs_close(socket) == 0);
}

// shows: exs_accept event ECANCELED
BOOST_AUTO_TEST_CASE(an_accept_is_cancelled) {
  const ListeningSocket listening;
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), this), 0);
  BOOST_TEST(exs_cancel(-1, this, EXS_CAF_AHANDLE) == 1);
  const exs_event_t event = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
  BOOST_TEST(errno_name(event.exs_evt_errno) == "ECANCELED");
  BOOST_TEST(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket == -1);
}

// shows: exs_poll event ECANCELED
BOOST_AUTO_TEST_CASE(a_poll_is_cancelled_and_ends_with_its_socket) {
  Pair pair(queue);
  for (const bool close : {false, true}) {
    const exs_pollfd_t entry = {pair.left, EXS_POLLIN, this};
    BOOST_REQUIRE_EQUAL(exs_poll(&entry, 1, 0, queue.handle()), 1);
    if (close) {
      BOOST_TEST(exs_close(pair.left) == 0);
    } else {
      BOOST_TEST(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES) == 1);
    }
    const exs_event_t event = queue.next_of(entry.pfd_socket, EXS_EVT_POLL);
    BOOST_TEST(errno_name(event.exs_evt_errno) == "ECANCELED");
    BOOST_TEST(event.exs_evt_ahandle == static_cast<void*>(this));
  }
}

// shows: exs_shutdown_async event ECANCELED ECONNRESET
BOOST_DATA_TEST_CASE(a_shutdown_that_cannot_be_told_ends_too, data::make({false, true}), peer_breaks) {
  Pair pair(queue, queue, [](int socket) { exs_fcntl(socket, EXS_F_SET_SEND_CREDITS, 1); });
  // The shutdown waits for sends that the peer does not receive.
  for (int i = 0; i < 2; ++i) {
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), kBytes, 0, queue.handle(), this, memory.handle()),
                        0);
  }
  BOOST_REQUIRE_EQUAL(exs_shutdown_async(pair.left, SHUT_WR, queue.handle(), this), 0);
  const int left = pair.left;
  peer_breaks ? break_right(*this, pair, left) : close_left(*this, pair, left);
  BOOST_TEST(queue.next_outcome(left, EXS_EVT_SHUTDOWN) == (peer_breaks ? "ECONNRESET" : "ECANCELED"));
}

// shows: exs_close_async event ETIMEDOUT, exs_close ETIMEDOUT
BOOST_DATA_TEST_CASE(a_close_ends_with_its_linger_time, data::make({false, true}), wait) {
  const Pair pair(queue);
  const int left = pair.left;
  set(left, EXS_SO_LINGER_MS, 1);
  BOOST_REQUIRE_EQUAL(exs_send(left, memory.at(), kBytes, 0, queue.handle(), this, memory.handle()), 0);
  if (wait) {
    BOOST_TEST(outcome(exs_close(left)) == "ETIMEDOUT");
  } else {
    BOOST_REQUIRE_EQUAL(exs_close_async(left, 0, queue.handle(), this), 0);
    BOOST_TEST(queue.next_outcome(left, EXS_EVT_CLOSE) == "ETIMEDOUT");
  }
  BOOST_TEST(queue.next_outcome(left, EXS_EVT_SEND) == "ECANCELED");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
