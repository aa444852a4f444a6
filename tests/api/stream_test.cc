// SOCK_STREAM through the C API: bytes in order, whatever the sizes of sends and receives.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace stream_test {

constexpr std::size_t kMiB = 1 << 20;

const exs_evt_xfer_t& transfer_of(const exs_event_t& event) {
  return event.exs_evt_union.exs_evt_xfer;
}

struct Fixture {
  InitializedLibrary library;
  Queue queue{1024};
  Memory source{4 * kMiB};
  Memory sink{4 * kMiB};
  Pair pair{queue, SOCK_STREAM};

  void send(std::size_t offset, std::size_t length, int flags = 0) {
    BOOST_REQUIRE_EQUAL(
        exs_send(pair.left, source.at(offset), length, flags, queue.handle(), nullptr, source.handle()), 0);
  }
  void receive(std::size_t offset, std::size_t length, int flags = 0) {
    BOOST_REQUIRE_EQUAL(
        exs_recv(pair.right, sink.at(offset), length, flags, queue.handle(), nullptr, sink.handle()), 0);
  }
  exs_event_t received() { return queue.next_of(pair.right, EXS_EVT_RECV); }
  exs_event_t sent() { return queue.next_of(pair.left, EXS_EVT_SEND); }
  // Receives `length` bytes in order to the start of the sink, at most `piece` at a time.
  void collect(std::size_t length, std::size_t piece) {
    for (std::size_t got = 0; got < length;) {
      receive(got, std::min(piece, length - got));
      const exs_event_t event = received();
      BOOST_REQUIRE_EQUAL(event.exs_evt_errno, 0);
      BOOST_REQUIRE_GT(transfer_of(event).exs_evt_length, 0U);
      got += transfer_of(event).exs_evt_length;
    }
  }
  [[nodiscard]] bool same(std::size_t length) { return std::memcmp(source.at(), sink.at(), length) == 0; }
};

}  // namespace stream_test

BOOST_FIXTURE_TEST_SUITE(stream_test, Fixture)

BOOST_AUTO_TEST_CASE(sends_have_no_borders_for_a_receive_that_comes_late) {
  source.fill(1);
  send(0, 100);
  send(100, 50);
  send(150, 1);
  for (int i = 0; i < 3; ++i) BOOST_TEST(sent().exs_evt_errno == 0);
  receive(0, 151, MSG_WAITALL);
  const exs_event_t event = received();
  BOOST_TEST(event.exs_evt_errno == 0);
  BOOST_TEST(transfer_of(event).exs_evt_length == 151U);
  BOOST_TEST((event.exs_evt_flags & (EXS_EVF_EOR | EXS_EVF_TRUNC | EXS_EVF_EOF)) == 0U);
  BOOST_TEST(same(151));
}

BOOST_AUTO_TEST_CASE(a_receive_ends_with_what_is_there_and_leaves_the_rest) {
  source.fill(2);
  send(0, 100);
  receive(0, 30);
  receive(30, 30);
  BOOST_TEST(transfer_of(received()).exs_evt_length == 30U);
  BOOST_TEST(transfer_of(received()).exs_evt_length == 30U);
  receive(60, 1000);
  BOOST_TEST(transfer_of(received()).exs_evt_length == 40U);
  BOOST_TEST(same(100));
}

BOOST_AUTO_TEST_CASE(a_long_send_fills_many_small_receives_that_wait_for_it) {
  source.fill(3);
  constexpr std::size_t kPiece = 20'000;
  for (std::size_t i = 0; i < 50; ++i) receive(i * kPiece, kPiece);
  send(0, 50 * kPiece);
  for (std::size_t i = 0; i < 50; ++i) {
    const exs_event_t event = received();
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(transfer_of(event).exs_evt_buf == sink.at(i * kPiece));
    BOOST_TEST(transfer_of(event).exs_evt_length == kPiece);
  }
  const exs_event_t event = sent();
  BOOST_TEST(event.exs_evt_errno == 0);
  BOOST_TEST(transfer_of(event).exs_evt_length == 50 * kPiece);
  BOOST_TEST(same(50 * kPiece));
}

BOOST_AUTO_TEST_CASE(waitall_takes_short_and_long_sends_together) {
  source.fill(4);
  receive(0, 300'000, MSG_WAITALL);
  send(0, 10);
  send(10, 100'000);
  send(100'010, 90);
  send(100'100, 199'900, EXS_NO_IMMEDIATE);
  const exs_event_t event = received();
  BOOST_TEST(event.exs_evt_errno == 0);
  BOOST_TEST(transfer_of(event).exs_evt_length == 300'000U);
  for (int i = 0; i < 4; ++i) BOOST_TEST(sent().exs_evt_errno == 0);
  BOOST_TEST(same(300'000));
}

BOOST_AUTO_TEST_CASE(a_half_close_is_seen_after_the_last_byte_and_the_other_half_goes_on) {
  source.fill(5);
  send(0, 10);
  send(10, 200'000);
  BOOST_TEST(exs_shutdown(pair.left, SHUT_WR) == 0);
  BOOST_TEST(outcome(exs_send(pair.left, source.at(), 1, 0, queue.handle(), nullptr, source.handle())) ==
             "EPIPE");
  receive(0, 400'000, MSG_WAITALL);
  exs_event_t event = received();
  BOOST_TEST(event.exs_evt_errno == 0);
  BOOST_TEST(transfer_of(event).exs_evt_length == 200'010U);
  BOOST_TEST((event.exs_evt_flags & EXS_EVF_EOF) != 0U);
  BOOST_TEST(same(200'010));
  receive(0, 1);
  event = received();
  BOOST_TEST(transfer_of(event).exs_evt_length == 0U);
  BOOST_TEST((event.exs_evt_flags & EXS_EVF_EOF) != 0U);

  BOOST_REQUIRE_EQUAL(exs_send(pair.right, source.at(), 77, 0, queue.handle(), nullptr, source.handle()), 0);
  BOOST_REQUIRE_EQUAL(exs_recv(pair.left, sink.at(), 100, 0, queue.handle(), nullptr, sink.handle()), 0);
  BOOST_TEST(transfer_of(queue.next_of(pair.left, EXS_EVT_RECV)).exs_evt_length == 77U);
}

BOOST_AUTO_TEST_CASE(a_receiver_that_shuts_down_ends_sends_with_epipe) {
  send(0, 100'000);
  BOOST_TEST(exs_shutdown(pair.right, SHUT_RD) == 0);
  BOOST_TEST(sent().exs_evt_errno == EPIPE);
  receive(0, 100);
  const exs_event_t event = received();
  BOOST_TEST(transfer_of(event).exs_evt_length == 0U);
  BOOST_TEST((event.exs_evt_flags & EXS_EVF_EOF) != 0U);
}

BOOST_AUTO_TEST_CASE(requests_and_answers_are_not_combined) {
  source.fill(6);
  for (std::size_t round = 0; round < 50; ++round) {
    receive(round * 8, 8);
    send(round * 8, 8);
    BOOST_TEST(transfer_of(received()).exs_evt_length == 8U);
    BOOST_TEST(sent().exs_evt_errno == 0);
  }
  BOOST_TEST(same(400));
  const exs_stats_t stats = stats_of(pair.left);
  BOOST_TEST(stats.combined_sends == 0U);
  BOOST_TEST(stats.immediate_msgs == 50U);
}

BOOST_AUTO_TEST_CASE(small_sends_of_one_turn_share_messages) {
  source.fill(7);
  for (std::size_t i = 0; i < 200; ++i) send(i * 10, 10);
  collect(2000, 4096);
  BOOST_TEST(same(2000));
  const exs_stats_t stats = stats_of(pair.left);
  // How many sends share a message depends on how often the engine polls meanwhile; tests/proto tests exactly
  // when a burst ends.
  BOOST_TEST(stats.combined_sends > 0U);
  BOOST_TEST(stats.immediate_msgs < 200U);
}

BOOST_AUTO_TEST_CASE(nodelay_sends_each_by_itself) {
  const int on = 1;
  BOOST_REQUIRE_EQUAL(exs_setsockopt(pair.left, SOL_EXS, EXS_SO_NODELAY, &on, sizeof on), 0);
  source.fill(8);
  for (std::size_t i = 0; i < 200; ++i) send(i * 10, 10);
  collect(2000, 4096);
  BOOST_TEST(same(2000));
  const exs_stats_t stats = stats_of(pair.left);
  BOOST_TEST(stats.combined_sends == 0U);
  BOOST_TEST(stats.immediate_msgs == 200U);
}

BOOST_AUTO_TEST_CASE(what_is_held_back_leaves_though_no_thread_comes_back_for_it) {
  source.fill(9);
  Queue other(16, EXS_WAIT_NOTIFY);
  BOOST_REQUIRE_EQUAL(
      exs_recv(pair.right, sink.at(), 300, MSG_WAITALL, other.handle(), nullptr, sink.handle()), 0);
  for (std::size_t i = 0; i < 3; ++i) send(i * 100, 100);
  // Expect: the bytes leave although this thread waits outside the library.
  pollfd watched{exs_qfd(other.handle()), POLLIN, 0};
  BOOST_REQUIRE_EQUAL(::poll(&watched, 1, kHangLimitSeconds * 1000), 1);
  BOOST_TEST(transfer_of(other.next()).exs_evt_length == 300U);
  BOOST_TEST(same(300));
}

BOOST_AUTO_TEST_CASE(msg_more_holds_back_until_the_next_send_or_a_flush) {
  source.fill(10);
  receive(0, 1000, MSG_WAITALL);
  send(0, 400, MSG_MORE);
  send(400, 400, MSG_MORE);
  exs_event_t event{};
  for (int look = 0; look < 20; ++look) BOOST_REQUIRE_EQUAL(exs_qwait(queue.handle(), &event, 1, 0, 0), 0);
  send(800, 200);
  BOOST_TEST(transfer_of(received()).exs_evt_length == 1000U);
  BOOST_TEST(same(1000));
  for (int i = 0; i < 3; ++i) BOOST_TEST(sent().exs_evt_errno == 0);
  const exs_stats_t stats = stats_of(pair.left);
  BOOST_TEST(stats.immediate_msgs == 1U);

  send(0, 5, MSG_MORE);
  BOOST_TEST(exs_flush(pair.left) == 0);
  BOOST_TEST(sent().exs_evt_errno == 0);
}

BOOST_AUTO_TEST_CASE(a_cancelled_waitall_tells_what_it_had_taken) {
  source.fill(11);
  send(0, 100);
  BOOST_TEST(sent().exs_evt_errno == 0);
  auto* const handle = reinterpret_cast<exs_ahandle_t>(1);
  BOOST_REQUIRE_EQUAL(
      exs_recv(pair.right, sink.at(), 500, MSG_WAITALL, queue.handle(), handle, sink.handle()), 0);
  exs_event_t event{};
  // Drives the library until the bytes are in the receive: no other thread may have polled the network.
  for (int look = 0; look < 1'000'000 && stats_of(pair.right).copied_bytes < 100; ++look)
    BOOST_REQUIRE_EQUAL(exs_qwait(queue.handle(), &event, 1, 0, 0), 0);
  BOOST_TEST(exs_cancel(pair.right, handle, EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 1);
  event = received();
  BOOST_TEST(event.exs_evt_errno == ECANCELED);
  BOOST_TEST(transfer_of(event).exs_evt_length == 100U);
  BOOST_TEST(same(100));
}

BOOST_AUTO_TEST_CASE(an_empty_send_or_receive_ends_at_once) {
  send(0, 0);
  BOOST_TEST(sent().exs_evt_errno == 0);
  receive(0, 0);
  const exs_event_t event = received();
  BOOST_TEST(event.exs_evt_errno == 0);
  BOOST_TEST(transfer_of(event).exs_evt_length == 0U);
}

BOOST_AUTO_TEST_CASE(a_stream_and_messages_do_not_connect) {
  ListeningSocket listening;  // for messages
  const int stream = exs_socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = listening.address();
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  BOOST_REQUIRE_EQUAL(exs_connect(stream, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
  BOOST_TEST(queue.next_outcome(stream, EXS_EVT_CONNECT) == "EPROTOTYPE");
  BOOST_TEST(exs_close(stream) == 0);
}

BOOST_AUTO_TEST_CASE(a_big_transfer_into_small_receives_arrives_whole) {
  constexpr std::size_t kSends = 64;
  constexpr std::size_t kReceiveBytes = 10'007;
  source.fill(12);
  std::size_t sends_done = 0, received_bytes = 0, posted = 0;
  bool same_bytes = true;
  for (std::size_t i = 0; i < 4; ++i) send((i % 4) * kMiB, kMiB);
  std::size_t sends_posted = 4;
  for (; posted < 16; ++posted) receive(posted * 16'384, kReceiveBytes);
  while (received_bytes < kSends * kMiB) {
    const exs_event_t event = queue.next();
    BOOST_REQUIRE_EQUAL(event.exs_evt_errno, 0);
    if (event.exs_evt_type == EXS_EVT_SEND) {
      ++sends_done;
      if (sends_posted < kSends) send((sends_posted++ % 4) * kMiB, kMiB);
      continue;
    }
    const auto* bytes = static_cast<const std::byte*>(transfer_of(event).exs_evt_buf);
    std::size_t left = transfer_of(event).exs_evt_length;
    while (left > 0) {
      const std::size_t at = received_bytes % (4 * kMiB);
      const std::size_t part = std::min(left, 4 * kMiB - at);
      same_bytes = same_bytes && std::memcmp(bytes, source.at(at), part) == 0;
      bytes += part;
      left -= part;
      received_bytes += part;
    }
    receive(posted++ % 16 * 16'384, kReceiveBytes);
  }
  BOOST_TEST(same_bytes);
  for (; sends_done < kSends; ++sends_done) BOOST_TEST(sent().exs_evt_errno == 0);
}

BOOST_AUTO_TEST_CASE(an_echo_of_random_sizes_comes_back_unchanged) {
  std::mt19937 random(20261121);
  source.fill(13);
  Memory between(kMiB);
  for (int round = 0; round < 100; ++round) {
    const std::size_t total = 1 + random() % 200'000;
    for (std::size_t at = 0; at < total;) {
      const std::size_t part = std::min<std::size_t>(total - at, 1 + random() % (1U << random() % 17));
      while (exs_send(pair.left, source.at(at), part, random() % 4 == 0 ? EXS_NO_IMMEDIATE : 0,
                      queue.handle(), nullptr, source.handle()) != 0) {
        BOOST_REQUIRE_EQUAL(errno, EAGAIN);
        BOOST_REQUIRE_EQUAL(sent().exs_evt_errno, 0);
      }
      at += part;
    }
    // The right end echoes what it receives, piece by piece; the left end receives all of it at once.
    BOOST_REQUIRE_EQUAL(
        exs_recv(pair.left, sink.at(), total, MSG_WAITALL, queue.handle(), nullptr, sink.handle()), 0);
    for (std::size_t echoed = 0; echoed < total;) {
      const std::size_t room = std::min<std::size_t>(total - echoed, 1 + random() % 50'000);
      BOOST_REQUIRE_EQUAL(
          exs_recv(pair.right, between.at(echoed), room, 0, queue.handle(), nullptr, between.handle()), 0);
      const std::size_t got = transfer_of(received()).exs_evt_length;
      BOOST_REQUIRE_EQUAL(
          exs_send(pair.right, between.at(echoed), got, 0, queue.handle(), nullptr, between.handle()), 0);
      echoed += got;
      while (got > 0 && queue.next_of(pair.right, EXS_EVT_SEND).exs_evt_errno != 0) BOOST_FAIL("echo");
    }
    BOOST_TEST(transfer_of(queue.next_of(pair.left, EXS_EVT_RECV)).exs_evt_length == total);
    BOOST_REQUIRE(same(total));
    exs_event_t event{};
    while (exs_qwait(queue.handle(), &event, 1, 0, 0) == 1) BOOST_REQUIRE_EQUAL(event.exs_evt_errno, 0);
  }
}

BOOST_AUTO_TEST_CASE(a_close_lets_held_sends_finish) {
  source.fill(14);
  for (std::size_t i = 0; i < 10; ++i) send(i * 10, 10);
  BOOST_TEST(exs_close(pair.left) == 0);
  pair.left = -1;
  receive(0, 200, MSG_WAITALL);
  const exs_event_t event = received();
  BOOST_TEST(transfer_of(event).exs_evt_length == 100U);
  BOOST_TEST((event.exs_evt_flags & EXS_EVF_EOF) != 0U);
  BOOST_TEST(same(100));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
