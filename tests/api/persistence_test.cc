// Persistent sends and receives from end to end: the peer reads, or writes, memory that stays posted.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/support/child_process.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace persistence_test {

constexpr std::size_t kBlockBytes = 1 << 16;

exs_ahandle_t numbered(int number) {
  return reinterpret_cast<exs_ahandle_t>(static_cast<std::uintptr_t>(number));
}

const exs_evt_xfer_t& transfer_of(const exs_event_t& event) {
  return event.exs_evt_union.exs_evt_xfer;
}

// `left` owns the persistent operation, `right` reads or writes its memory.
struct Fixture {
  InitializedLibrary library;
  Queue queue{256};
  Memory owned{kBlockBytes};
  Memory local{kBlockBytes};
  Pair pair{queue};

  Fixture() { owned.fill(3); }
  int own_send(int flags = 0, exs_ahandle_t handle = nullptr) {
    return exs_send(pair.left, owned.at(), kBlockBytes, EXS_PERSISTENT | flags, queue.handle(), handle,
                    owned.handle());
  }
  int own_receive(int flags = 0, exs_ahandle_t handle = nullptr) {
    return exs_recv(pair.left, owned.at(), kBlockBytes, EXS_PERSISTENT | flags, queue.handle(), handle,
                    owned.handle());
  }
  exs_event_t read(std::size_t length) {
    BOOST_REQUIRE_EQUAL(exs_recv(pair.right, local.at(), length, 0, queue.handle(), nullptr, local.handle()),
                        0);
    return queue.next_of(pair.right, EXS_EVT_RECV);
  }
  exs_event_t read_at(std::uint64_t offset, std::size_t length) {
    BOOST_REQUIRE_EQUAL(
        exs_recv_offset(pair.right, local.at(), length, 0, queue.handle(), nullptr, local.handle(), offset),
        0);
    return queue.next_of(pair.right, EXS_EVT_RECV);
  }
  exs_event_t write(std::size_t length) {
    BOOST_REQUIRE_EQUAL(exs_send(pair.right, local.at(), length, 0, queue.handle(), nullptr, local.handle()),
                        0);
    return queue.next_of(pair.right, EXS_EVT_SEND);
  }
  exs_event_t write_at(std::uint64_t offset, std::size_t length) {
    BOOST_REQUIRE_EQUAL(
        exs_send_offset(pair.right, local.at(), length, 0, queue.handle(), nullptr, local.handle(), offset),
        0);
    return queue.next_of(pair.right, EXS_EVT_SEND);
  }
  bool same(std::uint64_t offset, std::size_t length) {
    return std::memcmp(owned.at(offset), local.at(), length) == 0;
  }
};

}  // namespace persistence_test

BOOST_AUTO_TEST_SUITE(persistence_test)

BOOST_FIXTURE_TEST_SUITE(one_process, Fixture)

BOOST_AUTO_TEST_CASE(every_receive_reads_the_persistent_send_again) {
  BOOST_REQUIRE_EQUAL(own_send(), 0);
  for (const std::size_t length : {std::size_t{1}, std::size_t{100}, kBlockBytes}) {
    const exs_event_t event = read(length);
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(transfer_of(event).exs_evt_length == length);
    BOOST_TEST(same(0, length));
    owned.fill(static_cast<std::uint32_t>(length));
  }
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 1);
  BOOST_TEST(outcome(exs_mderegister(owned.handle(), 0)) == "EBUSY");
}

BOOST_AUTO_TEST_CASE(an_offset_names_a_part_of_it_and_the_event_tells_it) {
  BOOST_REQUIRE_EQUAL(own_send(), 0);
  for (const std::uint64_t offset : {0UL, 1UL, 40'000UL, kBlockBytes - 10}) {
    const exs_event_t event = read_at(offset, 10);
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(transfer_of(event).exs_evt_offset == offset);
    BOOST_TEST(same(offset, 10));
  }
}

// The owner's notice says that the bytes have arrived; the event of the send only that the write has left.
BOOST_AUTO_TEST_CASE(sends_write_the_persistent_receive) {
  BOOST_REQUIRE_EQUAL(own_receive(EXS_NOTIFY), 0);
  for (const int value : {1, 2}) {
    std::memset(local.at(), value, kBlockBytes);
    BOOST_TEST(write(1000).exs_evt_errno == 0);
    BOOST_TEST(queue.next_of(pair.left, EXS_EVT_PEER_WRITE).exs_evt_errno == 0);
    BOOST_TEST(same(0, 1000));
    const exs_event_t event = write_at(50'000, 10);
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(transfer_of(event).exs_evt_offset == 50'000U);
    BOOST_TEST(queue.next_of(pair.left, EXS_EVT_PEER_WRITE).exs_evt_errno == 0);
    BOOST_TEST(same(50'000, 10));
  }
}

BOOST_AUTO_TEST_CASE(a_range_beyond_the_end_is_told_and_the_connection_lives) {
  BOOST_REQUIRE_EQUAL(own_send(), 0);
  for (const std::uint64_t offset : {kBlockBytes - 9, kBlockBytes, UINT64_MAX, UINT64_MAX - 9})
    BOOST_TEST(errno_name(read_at(offset, 10).exs_evt_errno) == "ERANGE");
  BOOST_TEST(read_at(kBlockBytes - 10, 10).exs_evt_errno == 0);
  BOOST_TEST(read(10).exs_evt_errno == 0);
}

BOOST_AUTO_TEST_CASE(a_write_beyond_the_end_is_told_and_the_connection_lives) {
  BOOST_REQUIRE_EQUAL(
      exs_recv(pair.left, owned.at(), 4096, EXS_PERSISTENT, queue.handle(), nullptr, owned.handle()), 0);
  BOOST_TEST(write(1).exs_evt_errno == 0);
  for (const std::uint64_t offset : {4087UL, UINT64_MAX})
    BOOST_TEST(errno_name(write_at(offset, 10).exs_evt_errno) == "ERANGE");
  BOOST_TEST(errno_name(write(4097).exs_evt_errno) == "ERANGE");
  BOOST_TEST(write(4096).exs_evt_errno == 0);
}

BOOST_AUTO_TEST_CASE(an_offset_without_anything_persistent_is_told_and_the_message_stays) {
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, owned.at(), 8, 0, queue.handle(), nullptr, owned.handle()), 0);
  BOOST_TEST(errno_name(read_at(0, 8).exs_evt_errno) == "EINVAL");
  const exs_event_t event = read(100);
  BOOST_TEST(event.exs_evt_errno == 0);
  BOOST_TEST(transfer_of(event).exs_evt_length == 8U);
}

BOOST_AUTO_TEST_CASE(a_persistent_operation_owns_its_direction_until_its_event) {
  BOOST_REQUIRE_EQUAL(own_send(0, numbered(5)), 0);
  const auto send = [&](int flags) {
    return exs_send(pair.left, owned.at(), 8, flags, queue.handle(), nullptr, owned.handle());
  };
  for (const int flags : {0, EXS_NO_IMMEDIATE, EXS_PERSISTENT}) BOOST_TEST(outcome(send(flags)) == "EBUSY");
  BOOST_TEST(outcome(exs_send_offset(pair.left, owned.at(), 8, 0, queue.handle(), nullptr, owned.handle(),
                                     0)) == "EBUSY");
  BOOST_TEST(outcome(static_cast<int>(exs_send_sync(pair.left, owned.at(), 8, 0, owned.handle()))) ==
             "EBUSY");
  BOOST_TEST(read(100).exs_evt_errno == 0);
  BOOST_TEST(exs_cancel(pair.left, numbered(5), EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 1);
  const exs_event_t ended = queue.next_of(pair.left, EXS_EVT_SEND);
  BOOST_TEST(errno_name(ended.exs_evt_errno) == "ECANCELED");
  BOOST_TEST(ended.exs_evt_ahandle == numbered(5));
  BOOST_TEST(transfer_of(ended).exs_evt_bufsize == kBlockBytes);
  // Reads at an offset and plain reads each report the end once; then the direction carries messages again.
  BOOST_TEST(errno_name(read_at(0, 8).exs_evt_errno) == "ECANCELED");
  BOOST_TEST(errno_name(read(8).exs_evt_errno) == "ECANCELED");
  BOOST_REQUIRE_EQUAL(send(0), 0);
  BOOST_TEST(read(8).exs_evt_errno == 0);
}

// As exs_recv_offset(3) says: a plain receive waits, and tells when an offset can be read again.
BOOST_AUTO_TEST_CASE(after_a_revoke_a_plain_receive_tells_when_to_read_at_an_offset_again) {
  BOOST_REQUIRE_EQUAL(own_send(0, numbered(5)), 0);
  BOOST_TEST(read(8).exs_evt_errno == 0);
  BOOST_TEST(exs_cancel(pair.left, numbered(5), EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 1);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "ECANCELED");
  BOOST_TEST(errno_name(read(8).exs_evt_errno) == "ECANCELED");
  for (int i = 0; i < 3; ++i) BOOST_TEST(errno_name(read_at(0, 8).exs_evt_errno) == "ECANCELED");
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, local.at(), 8, 0, queue.handle(), nullptr, local.handle()), 0);
  BOOST_REQUIRE_EQUAL(own_send(), 0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  BOOST_TEST(read_at(40'000, 8).exs_evt_errno == 0);
}

BOOST_AUTO_TEST_CASE(whoever_comes_second_with_the_other_side_persistent_is_busy) {
  BOOST_REQUIRE_EQUAL(own_send(), 0);
  BOOST_TEST(read(8).exs_evt_errno == 0);
  const auto receive = [&] {
    return exs_recv(pair.right, local.at(), 8, EXS_PERSISTENT, queue.handle(), nullptr, local.handle());
  };
  BOOST_REQUIRE_EQUAL(receive(), 0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "EBUSY");
  BOOST_TEST(read(8).exs_evt_errno == 0);
  // The same for a persistent receive.
  BOOST_REQUIRE_EQUAL(own_receive(), 0);
  BOOST_TEST(write(8).exs_evt_errno == 0);
  BOOST_REQUIRE_EQUAL(
      exs_send(pair.right, local.at(), 8, EXS_PERSISTENT, queue.handle(), nullptr, local.handle()), 0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_SEND) == "EBUSY");
  BOOST_TEST(write(8).exs_evt_errno == 0);
}

BOOST_AUTO_TEST_CASE(notices_coalesce_in_a_queue_of_three_slots) {
  constexpr std::uint32_t kReads = 200;
  Queue small(3);
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, owned.at(), kBlockBytes, EXS_PERSISTENT | EXS_NOTIFY,
                               small.handle(), numbered(8), owned.handle()),
                      0);
  BOOST_TEST(attribute(small.handle(), EXS_QATTR_RESERVED_SLOTS) == 2);
  BOOST_REQUIRE_EQUAL(exs_qpost(small.handle(), nullptr, nullptr), 0);
  for (std::uint32_t i = 0; i < kReads; ++i) BOOST_REQUIRE_EQUAL(read_at(i, 16).exs_evt_errno, 0);
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
  while (count < kReads) {
    const exs_event_t event = small.next_of(pair.left, EXS_EVT_PEER_READ);
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(event.exs_evt_ahandle == numbered(8));
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_MORE) != 0U);
    const exs_evt_xfer_t& told = transfer_of(event);
    BOOST_TEST(told.exs_evt_buf == owned.at());
    BOOST_TEST(told.exs_evt_bufsize == kBlockBytes);
    BOOST_TEST(told.exs_evt_mhandle == owned.handle());
    BOOST_REQUIRE(told.exs_evt_count > 0U);
    count += told.exs_evt_count;
    bytes += told.exs_evt_length;
    BOOST_TEST(told.exs_evt_offset == count - 1);  // the offset of the last read of this notice
  }
  BOOST_TEST(count == kReads);
  BOOST_TEST(bytes == kReads * 16U);
  BOOST_REQUIRE_EQUAL(read_at(7, 16).exs_evt_errno, 0);
  BOOST_TEST(exs_cancel(pair.left, numbered(8), EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 1);
  // The notice of reads before the end comes before the event of the end.
  BOOST_TEST(transfer_of(small.next_of(pair.left, EXS_EVT_PEER_READ)).exs_evt_offset == 7U);
  const exs_event_t ended = small.next_of(pair.left, EXS_EVT_SEND);
  BOOST_TEST(errno_name(ended.exs_evt_errno) == "ECANCELED");
  BOOST_TEST((ended.exs_evt_flags & EXS_EVF_MORE) == 0U);
  BOOST_TEST(transfer_of(ended).exs_evt_buf == owned.at());
  BOOST_TEST(attribute(small.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

BOOST_AUTO_TEST_CASE(a_notice_of_a_write_comes_after_its_bytes) {
  BOOST_REQUIRE_EQUAL(own_receive(EXS_NOTIFY, numbered(9)), 0);
  for (std::uint64_t i = 1; i <= 50; ++i) {
    std::memset(local.at(), static_cast<int>(i), 4096);
    BOOST_TEST(write_at(i, 4096).exs_evt_errno == 0);
    const exs_event_t event = queue.next_of(pair.left, EXS_EVT_PEER_WRITE);
    BOOST_TEST(transfer_of(event).exs_evt_length == 4096U);
    BOOST_TEST(transfer_of(event).exs_evt_count == 1U);
    BOOST_TEST(transfer_of(event).exs_evt_offset == i);
    BOOST_TEST(same(i, 4096));
  }
}

BOOST_AUTO_TEST_CASE(notices_need_a_second_slot) {
  Queue small(1);
  BOOST_TEST(outcome(exs_send(pair.left, owned.at(), 8, EXS_PERSISTENT | EXS_NOTIFY, small.handle(), nullptr,
                              owned.handle())) == "EAGAIN");
  BOOST_TEST(attribute(small.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
  BOOST_REQUIRE_EQUAL(own_send(), 0);  // the direction is free
}

BOOST_AUTO_TEST_CASE(the_owner_closes) {
  BOOST_REQUIRE_EQUAL(own_send(EXS_NOTIFY), 0);
  BOOST_REQUIRE_EQUAL(own_receive(), 0);
  BOOST_TEST(read(8).exs_evt_errno == 0);
  BOOST_TEST(write(8).exs_evt_errno == 0);
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "ECANCELED");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "ECANCELED");
  BOOST_TEST(errno_name(read(8).exs_evt_errno) == "ECANCELED");
  const exs_event_t end = read(8);
  BOOST_TEST(end.exs_evt_errno == 0);
  BOOST_TEST((end.exs_evt_flags & EXS_EVF_EOF) != 0U);
}

BOOST_AUTO_TEST_CASE(the_driver_closes) {
  BOOST_REQUIRE_EQUAL(own_send(EXS_NOTIFY), 0);
  BOOST_REQUIRE_EQUAL(own_receive(), 0);
  BOOST_TEST(read(8).exs_evt_errno == 0);
  BOOST_TEST(write(8).exs_evt_errno == 0);
  BOOST_TEST(exs_close(pair.right) == 0);
  const exs_event_t sent = queue.next_of(pair.left, EXS_EVT_SEND);
  BOOST_TEST(errno_name(sent.exs_evt_errno) == "EPIPE");
  const exs_event_t received = queue.next_of(pair.left, EXS_EVT_RECV);
  BOOST_TEST((received.exs_evt_flags & EXS_EVF_EOF) != 0U);
}

BOOST_AUTO_TEST_SUITE_END()

// Two processes: one owns a block and makes no further call, the other reads and writes it.
namespace {

void own(const PortPipe& pipe) {
  const InitializedLibrary library;
  Queue queue;
  Memory memory(kBlockBytes);
  memory.fill(3);
  const ListeningSocket listening;
  exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr);
  pipe.tell(listening.address().sin_port);
  const int socket =
      queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  exs_send(socket, memory.at(), kBlockBytes, EXS_PERSISTENT, queue.handle(), nullptr, memory.handle());
  exs_recv(socket, memory.at(), kBlockBytes, EXS_PERSISTENT, queue.handle(), nullptr, memory.handle());
  for (;;) ::pause();
}

void drive(const PortPipe& pipe) {
  sockaddr_in address = loopback(ntohs(pipe.hear()));
  const InitializedLibrary library;
  Queue queue;
  Memory memory(kBlockBytes);
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr);
  queue.next_of(socket, EXS_EVT_CONNECT);
  for (;;) {
    exs_recv(socket, memory.at(), kBlockBytes, 0, queue.handle(), nullptr, memory.handle());
    exs_send(socket, memory.at(), kBlockBytes, 0, queue.handle(), nullptr, memory.handle());
    queue.next();
    queue.next();
  }
}

int connect_to(std::uint16_t port, Queue& queue) {
  sockaddr_in address = loopback(ntohs(port));
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
  BOOST_REQUIRE_EQUAL(queue.next_outcome(socket, EXS_EVT_CONNECT), "0");
  return socket;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(two_processes)

BOOST_AUTO_TEST_CASE(a_thousand_reads_and_writes_of_an_owner_that_makes_no_call_and_then_its_death) {
  PortPipe pipe;
  Child owner([&] { own(pipe); });
  const std::uint16_t port = pipe.hear();
  const InitializedLibrary library;
  Queue queue;
  Memory memory(kBlockBytes);
  Memory expected(kBlockBytes);
  expected.fill(3);
  const int socket = connect_to(port, queue);
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::size_t offset = i * 61;
    BOOST_REQUIRE_EQUAL(
        exs_recv_offset(socket, memory.at(), 1000, 0, queue.handle(), nullptr, memory.handle(), offset), 0);
    BOOST_REQUIRE_EQUAL(queue.next_outcome(socket, EXS_EVT_RECV), "0");
    BOOST_REQUIRE(std::memcmp(memory.at(), expected.at(offset), 1000) == 0);
    BOOST_REQUIRE_EQUAL(
        exs_send_offset(socket, memory.at(), 1000, 0, queue.handle(), nullptr, memory.handle(), offset), 0);
    BOOST_REQUIRE_EQUAL(queue.next_outcome(socket, EXS_EVT_SEND), "0");
  }
  // A read of the memory of a stopped peer, and a write into it, stay open; both end when the peer is killed.
  owner.stop();
  BOOST_REQUIRE_EQUAL(exs_recv(socket, memory.at(), 1000, 0, queue.handle(), nullptr, memory.handle()), 0);
  owner.kill();
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_RECV) == "ECONNRESET");
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_AUTO_TEST_CASE(the_driver_is_killed) {
  PortPipe pipe;
  Child driver([&] { drive(pipe); });
  const InitializedLibrary library;
  Queue queue;
  Memory memory(kBlockBytes);
  const ListeningSocket listening;
  exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr);
  pipe.tell(listening.address().sin_port);
  const int socket =
      queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  BOOST_REQUIRE_EQUAL(exs_send(socket, memory.at(), kBlockBytes, EXS_PERSISTENT | EXS_NOTIFY, queue.handle(),
                               nullptr, memory.handle()),
                      0);
  BOOST_REQUIRE_EQUAL(exs_recv(socket, memory.at(), kBlockBytes, EXS_PERSISTENT | EXS_NOTIFY, queue.handle(),
                               nullptr, memory.handle()),
                      0);
  for (int i = 0; i < 20; ++i) {
    queue.next_of(socket, EXS_EVT_PEER_READ);
    queue.next_of(socket, EXS_EVT_PEER_WRITE);
  }
  driver.kill();
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_SEND) == "ECONNRESET");
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_RECV) == "ECONNRESET");
  BOOST_TEST(exs_close(socket) == 0);
  BOOST_TEST(exs_mderegister(memory.handle(), 0) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
