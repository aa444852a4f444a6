// The flags of transfers, except for EXS_PERSISTENT: which are refused at once, and what each does.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstring>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace flags_test {

constexpr int kExsFlags[] = {EXS_SHUT_WR, EXS_PERSISTENT, EXS_NOTIFY, EXS_NO_EVENT, EXS_NO_IMMEDIATE};

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Memory memory{1 << 16};
  Pair pair{queue};

  int send(int flags, std::size_t length = 8, exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED) {
    return exs_send(pair.left, memory.at(), length, flags, queue.handle(), nullptr,
                    region == 0 ? memory.handle() : region);
  }
  int receive(int flags = 0, std::size_t length = 8, exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED) {
    return exs_recv(pair.right, memory.at(1 << 15), length, flags, queue.handle(), nullptr,
                    region == 0 ? memory.handle() : region);
  }
  int reserved() { return attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS); }
};

}  // namespace flags_test

BOOST_FIXTURE_TEST_SUITE(flags_test, Fixture)

BOOST_AUTO_TEST_CASE(no_flag_shares_a_bit_with_a_flag_of_the_kernel) {
  // All flags of the C library, and those of newer kernels (MSG_SPLICE_PAGES, MSG_SOCK_DEVMEM and internal
  // ones).
  const unsigned kernel[] = {
      MSG_OOB,      MSG_PEEK,    MSG_DONTROUTE,  MSG_CTRUNC,  MSG_PROXY,    MSG_TRUNC,    MSG_DONTWAIT,
      MSG_EOR,      MSG_WAITALL, MSG_FIN,        MSG_SYN,     MSG_CONFIRM,  MSG_RST,      MSG_ERRQUEUE,
      MSG_NOSIGNAL, MSG_MORE,    MSG_WAITFORONE, MSG_BATCH,   MSG_ZEROCOPY, MSG_FASTOPEN, MSG_CMSG_CLOEXEC,
      0x08000000U,  0x02000000U, 0x80000000U,    0x00080000U, 0x00100000U};
  unsigned ours = 0;
  for (const int flag : kExsFlags) {
    const auto bit = static_cast<unsigned>(flag);
    BOOST_TEST((bit & (bit - 1)) == 0U);
    BOOST_TEST((ours & bit) == 0U);
    ours |= bit;
    for (const unsigned other : kernel) BOOST_TEST((bit & other) == 0U, other);
  }
}

BOOST_AUTO_TEST_CASE(flags_that_mean_nothing_here_are_taken) {
  for (const int flag : {int{MSG_DONTWAIT}, int{MSG_NOSIGNAL}, int{MSG_EOR}}) {
    BOOST_REQUIRE_EQUAL(receive(flag), 0);
    BOOST_REQUIRE_EQUAL(send(flag), 0);
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  }
}

BOOST_AUTO_TEST_CASE(combinations_without_a_meaning_are_refused_and_nothing_changes) {
  for (const int flags : {EXS_NOTIFY, EXS_PERSISTENT | MSG_MORE, EXS_PERSISTENT | EXS_SHUT_WR,
                          EXS_PERSISTENT | EXS_NO_EVENT, int{MSG_WAITALL}}) {
    BOOST_TEST(outcome(send(flags)) == "EOPNOTSUPP");
  }
  for (const int flags :
       {EXS_NOTIFY, EXS_PERSISTENT | EXS_NO_EVENT, EXS_SHUT_WR, int{MSG_MORE}, EXS_NO_IMMEDIATE})
    BOOST_TEST(outcome(receive(flags)) == "EOPNOTSUPP");
  for (const int flags : {EXS_PERSISTENT, EXS_PERSISTENT | EXS_NOTIFY, EXS_NOTIFY}) {
    BOOST_TEST(outcome(exs_send_offset(pair.left, memory.at(), 8, flags, queue.handle(), nullptr,
                                       memory.handle(), 0)) == "EOPNOTSUPP");
    BOOST_TEST(outcome(exs_recv_offset(pair.left, memory.at(), 8, flags, queue.handle(), nullptr,
                                       memory.handle(), 0)) == "EOPNOTSUPP");
  }
  BOOST_TEST(reserved() == 0);
}

BOOST_AUTO_TEST_CASE(persistent_memory_is_registered_and_has_the_right) {
  const Memory readable(4096, EXS_MRF_REMOTE_READ);
  const Memory writable(4096, EXS_MRF_REMOTE_WRITE);
  const Memory local(4096, EXS_MRF_LOCAL_ONLY);
  const auto post = [&](bool sends, const Memory& of) {
    auto& posted = const_cast<Memory&>(of);
    const exs_qhandle_t q = queue.handle();
    return outcome(sends ? exs_send(pair.left, posted.at(), 8, EXS_PERSISTENT, q, nullptr, of.handle())
                         : exs_recv(pair.left, posted.at(), 8, EXS_PERSISTENT, q, nullptr, of.handle()));
  };
  BOOST_TEST(post(true, writable) == "EACCES");
  BOOST_TEST(post(true, local) == "EACCES");
  BOOST_TEST(post(false, readable) == "EACCES");
  BOOST_TEST(post(false, local) == "EACCES");
  // A normal send: the peer reads this memory, if it has posted no receive yet.
  BOOST_TEST(outcome(exs_send_offset(pair.left, memory.at(), 8, 0, queue.handle(), nullptr, local.handle(),
                                     0)) == "EFAULT");
  for (const Memory* of : {&local, &writable})
    BOOST_TEST(outcome(exs_send_offset(pair.left, const_cast<Memory*>(of)->at(), 8, 0, queue.handle(),
                                       nullptr, of->handle(), 0)) == "EACCES");
  BOOST_TEST(outcome(send(EXS_PERSISTENT, 0)) == "EINVAL");
  BOOST_TEST(outcome(receive(EXS_PERSISTENT, 0)) == "EINVAL");
  const exs_qhandle_t q = queue.handle();
  BOOST_TEST(outcome(exs_send(pair.left, memory.at(), 8, EXS_PERSISTENT, q, nullptr,
                              EXS_MHANDLE_UNREGISTERED)) == "EINVAL");
  BOOST_TEST(outcome(exs_recv(pair.left, memory.at(), 8, EXS_PERSISTENT, q, nullptr,
                              EXS_MHANDLE_UNREGISTERED)) == "EINVAL");
  BOOST_TEST(reserved() == 0);
}

BOOST_AUTO_TEST_CASE(without_an_event_the_slot_comes_back_by_itself) {
  BOOST_REQUIRE_EQUAL(receive(EXS_NO_EVENT), 0);
  BOOST_TEST(reserved() == 1);
  BOOST_REQUIRE_EQUAL(send(EXS_NO_EVENT), 0);
  BOOST_REQUIRE_EQUAL(receive(), 0);
  BOOST_REQUIRE_EQUAL(send(0), 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  BOOST_TEST(queue.empty());
  BOOST_TEST(reserved() == 0);
}

BOOST_AUTO_TEST_CASE(without_an_event_an_error_is_told_all_the_same) {
  BOOST_REQUIRE_EQUAL(receive(EXS_NO_EVENT), 0);
  BOOST_REQUIRE_EQUAL(exs_close(pair.right), 0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(without_an_event_the_queue_may_still_be_too_full) {
  Queue small(1);
  const auto post = [&](int flags) {
    return exs_recv(pair.right, memory.at(), 8, flags, small.handle(), nullptr, memory.handle());
  };
  BOOST_REQUIRE_EQUAL(post(EXS_NO_EVENT), 0);
  BOOST_TEST(outcome(post(EXS_NO_EVENT)) == "EAGAIN");
  exs_close(pair.right);
  BOOST_TEST(small.next_outcome(pair.right, EXS_EVT_RECV) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(a_last_send_ends_the_direction_behind_itself) {
  memory.fill(4);
  BOOST_REQUIRE_EQUAL(send(0, 100), 0);
  BOOST_REQUIRE_EQUAL(send(EXS_SHUT_WR | EXS_NO_IMMEDIATE, 3000), 0);
  BOOST_TEST(outcome(send(0)) == "EPIPE");
  BOOST_TEST(outcome(send(EXS_SHUT_WR)) == "EPIPE");
  for (const std::size_t length : {100UL, 3000UL}) {
    BOOST_REQUIRE_EQUAL(receive(0, 1 << 15), 0);
    BOOST_TEST(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_union.exs_evt_xfer.exs_evt_length == length);
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  }
  BOOST_REQUIRE_EQUAL(receive(), 0);
  BOOST_TEST((queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_flags & EXS_EVF_EOF) != 0U);
}

BOOST_AUTO_TEST_CASE(a_last_send_that_is_refused_ends_nothing) {
  BOOST_TEST(outcome(send(EXS_SHUT_WR, 1 << 20)) == "EFAULT");
  Queue small(1);
  BOOST_REQUIRE_EQUAL(exs_qpost(small.handle(), nullptr, nullptr), 0);
  BOOST_TEST(outcome(exs_send(pair.left, memory.at(), 8, EXS_SHUT_WR, small.handle(), nullptr,
                              memory.handle())) == "EAGAIN");
  BOOST_REQUIRE_EQUAL(receive(), 0);
  BOOST_REQUIRE_EQUAL(send(0), 0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
}

BOOST_AUTO_TEST_CASE(what_waits_for_more_goes_out_with_it_or_by_a_flush) {
  BOOST_REQUIRE_EQUAL(receive(), 0);
  BOOST_REQUIRE_EQUAL(receive(), 0);
  BOOST_REQUIRE_EQUAL(receive(), 0);
  BOOST_REQUIRE_EQUAL(send(MSG_MORE), 0);
  BOOST_REQUIRE_EQUAL(send(MSG_MORE), 0);
  exs_event_t event{};
  BOOST_TEST(exs_qwait(queue.handle(), &event, 1, 1, 1'000'000) == 0);
  BOOST_REQUIRE_EQUAL(send(0), 0);
  for (int i = 0; i < 3; ++i) BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  BOOST_REQUIRE_EQUAL(receive(), 0);
  BOOST_REQUIRE_EQUAL(send(MSG_MORE), 0);
  BOOST_REQUIRE_EQUAL(exs_flush(pair.left), 0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
}

BOOST_AUTO_TEST_CASE(a_flush_needs_a_connection) {
  BOOST_TEST(outcome(exs_flush(-1)) == "EBADF");
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(outcome(exs_flush(fresh)) == "ENOTCONN");
  exs_close(fresh);
  BOOST_TEST(exs_flush(pair.left) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
