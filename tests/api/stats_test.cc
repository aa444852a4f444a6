// exs_getstats: of one socket, and of the process.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace stats_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  Memory source{1 << 16};
  Memory sink{1 << 16};
  Pair pair{queue};

  void message(std::size_t length_bytes, int flags = 0) {
    BOOST_REQUIRE_EQUAL(
        exs_recv(pair.right, sink.at(), sink.size_bytes(), 0, queue.handle(), nullptr, sink.handle()), 0);
    BOOST_REQUIRE_EQUAL(
        exs_send(pair.left, source.at(), length_bytes, flags, queue.handle(), nullptr, source.handle()), 0);
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  }
};

}  // namespace stats_test

BOOST_FIXTURE_TEST_SUITE(stats_test, Fixture)

BOOST_AUTO_TEST_CASE(arguments_are_checked) {
  exs_stats_t stats{};
  BOOST_TEST(outcome(exs_getstats(pair.left, nullptr)) == "EFAULT");
  for (const std::size_t room : {0UL, 7UL, 8UL, 15UL}) {
    stats.struct_bytes = room;
    BOOST_TEST(outcome(exs_getstats(pair.left, &stats)) == "EINVAL");
  }
  stats.struct_bytes = sizeof stats;
  for (const int number : {-2, 0, 1 << 20}) BOOST_TEST(outcome(exs_getstats(number, &stats)) == "EBADF");
}

BOOST_AUTO_TEST_CASE(a_program_of_another_release_gets_what_fits) {
  message(10);
  struct {
    exs_stats_t stats;
    std::uint64_t beyond[4];
  } room;
  std::memset(&room, 0x55, sizeof room);
  room.stats.struct_bytes = sizeof room;
  BOOST_TEST(exs_getstats(pair.left, &room.stats) == 0);
  BOOST_TEST(room.stats.struct_bytes == sizeof(exs_stats_t));
  BOOST_TEST(room.beyond[0] == 0x5555555555555555U);
  std::memset(&room, 0x55, sizeof room);
  room.stats.struct_bytes = offsetof(exs_stats_t, sends_done);
  BOOST_TEST(exs_getstats(pair.left, &room.stats) == 0);
  BOOST_TEST(room.stats.sends_posted == 1U);
  BOOST_TEST(room.stats.sends_done == 0x5555555555555555U);
}

BOOST_AUTO_TEST_CASE(a_socket_that_never_connected_has_counted_nothing) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const exs_stats_t stats = stats_of(socket);
  BOOST_TEST(stats.sends_posted == 0U);
  BOOST_TEST(stats.ctrl_sends == 0U);
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_AUTO_TEST_CASE(immediate_messages_are_counted_as_such) {
  for (int i = 0; i < 3; ++i) message(100);
  const exs_stats_t left = stats_of(pair.left);
  const exs_stats_t right = stats_of(pair.right);
  BOOST_TEST(left.sends_posted == 3U);
  BOOST_TEST(left.sends_done == 3U);
  BOOST_TEST(left.immediate_msgs == 3U);
  BOOST_TEST(left.immediate_bytes == 300U);
  BOOST_TEST(left.bytes_sent == 300U);
  BOOST_TEST(left.adverts_sent == 0U);
  BOOST_TEST(right.recvs_posted == 3U);
  BOOST_TEST(right.recvs_done == 3U);
  BOOST_TEST(right.bytes_received == 300U);
  BOOST_TEST(right.copied_bytes == 300U);
  BOOST_TEST(right.direct_bytes == 0U);
  BOOST_TEST(right.rdma_reads == 0U);
}

BOOST_AUTO_TEST_CASE(normal_messages_are_adverts_reads_and_acks_and_no_copies) {
  message(50'000);
  message(10, EXS_NO_IMMEDIATE);
  const exs_stats_t left = stats_of(pair.left);
  const exs_stats_t right = stats_of(pair.right);
  BOOST_TEST(left.adverts_sent == 2U);
  BOOST_TEST(left.acks_received == 2U);
  BOOST_TEST(left.bytes_sent == 50'010U);
  BOOST_TEST(left.immediate_msgs == 0U);
  BOOST_TEST(right.adverts_received == 2U);
  BOOST_TEST(right.acks_sent == 2U);
  BOOST_TEST(right.direct_bytes == 50'010U);
  BOOST_TEST(right.copied_bytes == 0U);
  BOOST_TEST(right.rdma_reads >= 2U);
  BOOST_TEST(left.errors + right.errors == 0U);
}

BOOST_AUTO_TEST_CASE(operations_under_way_are_posted_and_not_done) {
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, sink.at(), 1, 0, queue.handle(), nullptr, sink.handle()), 0);
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, sink.at(), 1, 0, queue.handle(), nullptr, sink.handle()), 0);
  const exs_stats_t stats = stats_of(pair.right);
  BOOST_TEST(stats.recvs_posted == 2U);
  BOOST_TEST(stats.recvs_done == 0U);
}

BOOST_AUTO_TEST_CASE(operations_that_end_with_an_error_are_counted) {
  const exs_stats_t before = stats_of(-1);
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, sink.at(), 1, 0, queue.handle(), nullptr, sink.handle()), 0);
  BOOST_TEST(exs_close(pair.right) == 0);
  BOOST_TEST(stats_of(-1).errors == before.errors + 1);
}

BOOST_AUTO_TEST_CASE(a_send_without_a_credit_is_a_stall) {
  for (int i = 0; i < 40; ++i) {
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, source.at(), 1, 0, queue.handle(), nullptr, source.handle()), 0);
  }
  while (stats_of(pair.left).credit_stalls == 0) std::this_thread::yield();
  BOOST_REQUIRE_EQUAL(set_option(pair.left, EXS_SO_LINGER_MS, 0), 0);
}

BOOST_AUTO_TEST_CASE(the_process_totals_are_the_sum_of_the_sockets_open_and_closed) {
  message(100);
  message(5000);
  const exs_stats_t left = stats_of(pair.left);
  const exs_stats_t right = stats_of(pair.right);
  const exs_stats_t total = stats_of(-1);
  BOOST_TEST(total.sends_done == left.sends_done + right.sends_done);
  BOOST_TEST(total.recvs_done == left.recvs_done + right.recvs_done);
  BOOST_TEST(total.bytes_sent == left.bytes_sent + right.bytes_sent);
  BOOST_TEST(total.direct_bytes == left.direct_bytes + right.direct_bytes);
  BOOST_TEST(total.rdma_reads == left.rdma_reads + right.rdma_reads);
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(exs_close(pair.right) == 0);
  const exs_stats_t after = stats_of(-1);
  BOOST_TEST(after.sends_done == total.sends_done);
  BOOST_TEST(after.bytes_received == total.bytes_received);
  BOOST_TEST(after.adverts_sent == total.adverts_sent);
  BOOST_TEST(after.ctrl_sends >= total.ctrl_sends);
}

BOOST_AUTO_TEST_CASE(the_totals_begin_anew_with_the_library) {
  message(100);
  BOOST_REQUIRE_EQUAL(exs_close(pair.left), 0);
  BOOST_REQUIRE_EQUAL(exs_close(pair.right), 0);
  const exs_stats_t own = stats_of(-1);
  BOOST_TEST(own.sends_done == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
