// exs_send and exs_recv: what is refused at once, order, credits, and the data in every event.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstring>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace post_test {

struct TransferCase {
  int (*post)(int, void*, std::size_t, int, exs_qhandle_t, exs_ahandle_t, exs_mhandle_t);
  int good_flag;
};

int post_send(int socket, void* buffer, std::size_t length, int flags, exs_qhandle_t queue,
              exs_ahandle_t handle, exs_mhandle_t region) {
  return exs_send(socket, buffer, length, flags, queue, handle, region);
}

const TransferCase kTransfers[] = {{post_send, EXS_NO_IMMEDIATE}, {exs_recv, MSG_WAITALL}};

exs_ahandle_t numbered(int number) {
  return reinterpret_cast<exs_ahandle_t>(static_cast<std::uintptr_t>(number));
}

struct Fixture {
  InitializedLibrary library;
  Queue queue{1000};
  Memory memory{1 << 16};
};

}  // namespace post_test

BOOST_FIXTURE_TEST_SUITE(post_test, Fixture)

BOOST_AUTO_TEST_CASE(an_unconnected_socket_is_enotconn) {
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const ListeningSocket listening;
  for (const TransferCase& transfer : kTransfers) {
    for (const int socket : {fresh, listening.number()}) {
      BOOST_TEST(outcome(transfer.post(socket, memory.at(), 1, 0, queue.handle(), nullptr,
                                       memory.handle())) == "ENOTCONN");
    }
  }
  sockaddr_in address = listening.address();
  BOOST_REQUIRE_EQUAL(exs_connect(fresh, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
  for (const TransferCase& transfer : kTransfers) {
    BOOST_TEST(outcome(transfer.post(fresh, memory.at(), 1, 0, queue.handle(), nullptr, memory.handle())) ==
               "ENOTCONN");
  }
  BOOST_TEST(exs_close(fresh) == 0);
}

BOOST_AUTO_TEST_CASE(arguments_are_checked_and_nothing_changes) {
  const Pair pair(queue);
  const exs_qhandle_t q = queue.handle();
  const exs_mhandle_t region = memory.handle();
  std::byte* const start = memory.at();
  const std::size_t size = memory.size_bytes();
  for (const TransferCase& transfer : kTransfers) {
    const auto post = [&](void* buffer, std::size_t length, int flags, exs_qhandle_t to, exs_mhandle_t in) {
      return outcome(transfer.post(pair.left, buffer, length, flags, to, nullptr, in));
    };
    for (const int flags : {int{MSG_OOB}, int{MSG_PEEK}, 0x20000000, -1})
      BOOST_TEST(post(start, 1, flags, q, region) == "EOPNOTSUPP");
    for (const exs_mhandle_t stale : {EXS_MHANDLE_INVALID, exs_mhandle_t{region + (1 << 16)}}) {
      BOOST_TEST(post(start, 1, 0, q, stale) == "EINVAL");
    }
    for (const exs_qhandle_t stale : {EXS_QHANDLE_INVALID, exs_qhandle_t{0}, exs_qhandle_t{q + (1 << 16)}}) {
      BOOST_TEST(post(start, 1, 0, stale, region) == "EBADF");
    }
    BOOST_TEST(post(start - 1, 1, 0, q, region) == "EFAULT");
    BOOST_TEST(post(start, size + 1, 0, q, region) == "EFAULT");
    BOOST_TEST(post(start + size, 1, 0, q, region) == "EFAULT");
    BOOST_TEST(post(start + 1, SIZE_MAX, 0, q, region) == "EFAULT");
    BOOST_TEST(post(nullptr, 1, 0, q, region) == "EFAULT");
  }
  BOOST_TEST(attribute(q, EXS_QATTR_RESERVED_SLOTS) == 0);
  BOOST_TEST(exs_mderegister(region, 0) == 0);
}

BOOST_AUTO_TEST_CASE(the_flag_of_the_other_direction_is_refused) {
  const Pair pair(queue);
  BOOST_TEST(outcome(exs_send(pair.left, memory.at(), 1, MSG_WAITALL, queue.handle(), nullptr,
                              memory.handle())) == "EOPNOTSUPP");
  BOOST_TEST(outcome(exs_recv(pair.left, memory.at(), 1, EXS_NO_IMMEDIATE, queue.handle(), nullptr,
                              memory.handle())) == "EOPNOTSUPP");
}

BOOST_AUTO_TEST_CASE(an_empty_message_needs_no_buffer_and_still_is_a_message) {
  const Pair pair(queue);
  for (const int flags : {0, EXS_NO_IMMEDIATE}) {
    BOOST_REQUIRE_EQUAL(exs_recv(pair.right, nullptr, 0, 0, queue.handle(), nullptr, memory.handle()), 0);
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, nullptr, 0, flags, queue.handle(), nullptr, memory.handle()), 0);
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    const exs_event_t event = queue.next_of(pair.right, EXS_EVT_RECV);
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_EOR) != 0U);
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_EOF) == 0U);
  }
}

BOOST_AUTO_TEST_CASE(an_event_says_what_was_posted) {
  const Pair pair(queue);
  BOOST_REQUIRE_EQUAL(
      exs_recv(pair.right, memory.at(7), 5000, MSG_WAITALL, queue.handle(), numbered(7), memory.handle()), 0);
  BOOST_REQUIRE_EQUAL(
      exs_send(pair.left, memory.at(9000), 3000, 0, queue.handle(), numbered(8), memory.handle()), 0);
  const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECV);
  BOOST_TEST(received.exs_evt_ahandle == numbered(7));
  BOOST_TEST(received.exs_evt_union.exs_evt_xfer.exs_evt_buf == memory.at(7));
  BOOST_TEST(received.exs_evt_union.exs_evt_xfer.exs_evt_bufsize == 5000U);
  BOOST_TEST(received.exs_evt_union.exs_evt_xfer.exs_evt_length == 3000U);
  BOOST_TEST(received.exs_evt_union.exs_evt_xfer.exs_evt_offset == 0U);
  BOOST_TEST(received.exs_evt_union.exs_evt_xfer.exs_evt_mhandle == memory.handle());
  const exs_event_t sent = queue.next_of(pair.left, EXS_EVT_SEND);
  BOOST_TEST(sent.exs_evt_ahandle == numbered(8));
  BOOST_TEST(sent.exs_evt_union.exs_evt_xfer.exs_evt_buf == memory.at(9000));
  BOOST_TEST(sent.exs_evt_union.exs_evt_xfer.exs_evt_length == 3000U);
}

BOOST_AUTO_TEST_CASE(a_short_receive_takes_what_fits_and_the_sender_learns_how_much) {
  const Pair pair(queue);
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, memory.at(), 1000, 0, queue.handle(), nullptr, memory.handle()),
                      0);
  BOOST_REQUIRE_EQUAL(
      exs_send(pair.left, memory.at(2000), 30'000, 0, queue.handle(), nullptr, memory.handle()), 0);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_union.exs_evt_xfer.exs_evt_length == 1000U);
  BOOST_TEST((queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_flags & EXS_EVF_TRUNC) != 0U);
}

BOOST_AUTO_TEST_CASE(events_of_a_direction_come_in_post_order_whatever_the_sizes) {
  constexpr int kMessages = 200;
  const Pair pair(queue);
  for (int i = 0; i < kMessages; ++i) {
    const std::size_t length = i % 3 == 0 ? 10'000 : 10;
    BOOST_REQUIRE_EQUAL(
        exs_recv(pair.right, memory.at(1 << 15), length, 0, queue.handle(), numbered(i), memory.handle()), 0);
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), length, i % 5 == 0 ? EXS_NO_IMMEDIATE : 0,
                                 queue.handle(), numbered(i), memory.handle()),
                        0);
  }
  for (int i = 0; i < kMessages; ++i) {
    BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_ahandle == numbered(i));
    BOOST_TEST(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_ahandle == numbered(i));
  }
}

BOOST_AUTO_TEST_CASE(with_one_credit_each_way_everything_still_flows) {
  constexpr int kMessages = 100;
  const Pair pair(queue, [](int socket) {
    BOOST_REQUIRE_EQUAL(exs_fcntl(socket, EXS_F_SET_SEND_CREDITS, 1), 0);
    BOOST_REQUIRE_EQUAL(exs_fcntl(socket, EXS_F_SET_RECV_CREDITS, 1), 0);
  });
  for (int i = 0; i < kMessages; ++i) {
    const std::size_t length = i % 2 == 0 ? 3000 : 3;
    for (const int socket : {pair.left, pair.right}) {
      BOOST_REQUIRE_EQUAL(
          exs_send(socket, memory.at(), length, 0, queue.handle(), numbered(i), memory.handle()), 0);
      BOOST_REQUIRE_EQUAL(
          exs_recv(socket, memory.at(1 << 15), length, 0, queue.handle(), numbered(i), memory.handle()), 0);
    }
  }
  for (int i = 0; i < kMessages; ++i) {
    for (const int socket : {pair.left, pair.right}) {
      const exs_event_t sent = queue.next_of(socket, EXS_EVT_SEND);
      BOOST_TEST(sent.exs_evt_errno == 0);
      BOOST_TEST(sent.exs_evt_ahandle == numbered(i));
      BOOST_TEST(queue.next_outcome(socket, EXS_EVT_RECV) == "0");
    }
  }
}

BOOST_AUTO_TEST_CASE(sends_nobody_receives_yet_wait_without_harm) {
  constexpr int kMessages = 200;  // many more than credits
  const Pair pair(queue);
  for (int i = 0; i < kMessages; ++i) {
    memory.at(static_cast<std::size_t>(i))[0] = static_cast<std::byte>(i);
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(static_cast<std::size_t>(i)), 1, EXS_NO_IMMEDIATE,
                                 queue.handle(), numbered(i), memory.handle()),
                        0);
  }
  for (int i = 0; i < kMessages; ++i) {
    BOOST_REQUIRE_EQUAL(exs_recv(pair.right, memory.at(4096), 1, 0, queue.handle(), nullptr, memory.handle()),
                        0);
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
    BOOST_TEST((memory.at(4096)[0] == static_cast<std::byte>(i)));
    BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_ahandle == numbered(i));
  }
}

BOOST_AUTO_TEST_CASE(events_may_go_to_any_queue) {
  const Pair pair(queue);
  Queue second;
  Queue third;
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, memory.at(), 8, 0, second.handle(), nullptr, memory.handle()), 0);
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(8), 8, 0, third.handle(), nullptr, memory.handle()), 0);
  BOOST_TEST(second.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  BOOST_TEST(third.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(the_same_memory_may_be_in_many_sends_at_once) {
  const Pair pair(queue);
  memory.fill(3);
  for (int i = 0; i < 8; ++i) {
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), 4096, 0, queue.handle(), nullptr, memory.handle()),
                        0);
  }
  Memory sink(8 * 4096);
  for (std::size_t i = 0; i < 8; ++i) {
    BOOST_REQUIRE_EQUAL(
        exs_recv(pair.right, sink.at(i * 4096), 4096, 0, queue.handle(), nullptr, sink.handle()), 0);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
    BOOST_TEST(std::memcmp(sink.at(i * 4096), memory.at(), 4096) == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
