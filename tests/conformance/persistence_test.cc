// Persistent operations: what the peer may do with them, which events both ends get, and how they end.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstring>

#include "tests/support/exs_fixture.h"

namespace data = boost::unit_test::data;

namespace exs::test {
namespace persistence_test {

constexpr std::size_t kBlockBytes = 100'000;

// One direction of persistence: the left end owns the memory, the right end reads it, or writes it.
struct Side {
  const char* name;
  bool reads;
  int owner_event;
  int driver_event;
  int notice_event;
};

std::ostream& operator<<(std::ostream& out, const Side& side) {
  return out << side.name;
}

const Side kSides[] = {
    {"persistent send, read by the peer", true, EXS_EVT_SEND, EXS_EVT_RECV, EXS_EVT_PEER_READ},
    {"persistent receive, written by the peer", false, EXS_EVT_RECV, EXS_EVT_SEND, EXS_EVT_PEER_WRITE},
};

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Memory block{kBlockBytes};
  Memory mine{kBlockBytes};
  Pair pair{queue};

  Fixture() {
    block.fill(1);
    mine.fill(2);
  }
  int own(const Side& side, int flags = 0, int socket = -1) {
    const int owner = socket < 0 ? pair.left : socket;
    auto* const post = side.reads ? post_send : exs_recv;
    return post(owner, block.at(), kBlockBytes, EXS_PERSISTENT | flags, queue.handle(), this, block.handle());
  }
  static int post_send(int socket, void* buffer, std::size_t length, int flags, exs_qhandle_t to,
                       exs_ahandle_t handle, exs_mhandle_t region) {
    return exs_send(socket, buffer, length, flags, to, handle, region);
  }
  int drive(const Side& side, std::size_t length, std::uint64_t offset) {
    return side.reads ? exs_recv_offset(pair.right, mine.at(), length, 0, queue.handle(), nullptr,
                                        mine.handle(), offset)
                      : exs_send_offset(pair.right, mine.at(), length, 0, queue.handle(), nullptr,
                                        mine.handle(), offset);
  }
  int drive_plainly(const Side& side, std::size_t length) {
    return side.reads ? exs_recv(pair.right, mine.at(), length, 0, queue.handle(), nullptr, mine.handle())
                      : exs_send(pair.right, mine.at(), length, 0, queue.handle(), nullptr, mine.handle());
  }
  exs_event_t driven(const Side& side) { return queue.next_of(pair.right, side.driver_event); }
  std::string driven_outcome(const Side& side) { return errno_name(driven(side).exs_evt_errno); }
  [[nodiscard]] bool same(std::size_t length, std::uint64_t offset) {
    return std::memcmp(mine.at(), block.at(offset), length) == 0;
  }
  // Returns when the writes of the right end are in the left end's memory: the end of its sending follows
  // them.
  void await_writes(const Side& side) {
    if (side.reads) return;
    BOOST_REQUIRE_EQUAL(exs_shutdown(pair.right, SHUT_WR), 0);
    const exs_event_t end = queue.next_of(pair.left, EXS_EVT_RECV);
    BOOST_TEST((end.exs_evt_flags & EXS_EVF_EOF) != 0U);
  }
};

}  // namespace persistence_test

BOOST_FIXTURE_TEST_SUITE(persistence_test, Fixture)

BOOST_DATA_TEST_CASE(serves_any_part_any_number_of_times, data::make(kSides), side) {
  BOOST_REQUIRE_EQUAL(own(side), 0);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t length : {std::size_t{1}, std::size_t{64}, std::size_t{5000}, kBlockBytes}) {
      const std::uint64_t offset = kBlockBytes - length;
      BOOST_REQUIRE_EQUAL(drive(side, length, offset), 0);
      const exs_event_t event = driven(side);
      BOOST_TEST(errno_name(event.exs_evt_errno) == "0");
      BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_length == length);
      BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_offset == offset);
      if (side.reads) BOOST_TEST(same(length, offset));
    }
  }
  await_writes(side);
  if (!side.reads) BOOST_TEST(same(kBlockBytes, 0));
}

BOOST_DATA_TEST_CASE(a_plain_transfer_starts_at_the_start, data::make(kSides), side) {
  BOOST_REQUIRE_EQUAL(own(side), 0);
  for (const std::size_t length : {std::size_t{64}, std::size_t{5000}}) {
    BOOST_REQUIRE_EQUAL(drive_plainly(side, length), 0);
    const exs_event_t event = driven(side);
    BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_length == length);
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_TRUNC) == 0U);
    if (side.reads) BOOST_TEST(same(length, 0));
  }
  await_writes(side);
  if (!side.reads) BOOST_TEST(same(5000, 0));
}

// shows: exs_recv_offset event ERANGE, exs_send_offset event ERANGE
BOOST_DATA_TEST_CASE(outside_is_erange_and_the_connection_lives, data::make(kSides), side) {
  BOOST_REQUIRE_EQUAL(own(side), 0);
  struct Range {
    std::size_t length;
    std::uint64_t offset;
  };
  for (const Range range : {Range{1, kBlockBytes}, Range{2, kBlockBytes - 1}, Range{kBlockBytes, 1},
                            Range{1, UINT64_MAX}, Range{64, UINT64_MAX - 32}}) {
    BOOST_REQUIRE_EQUAL(drive(side, range.length, range.offset), 0);
    BOOST_TEST(driven_outcome(side) == "ERANGE");
  }
  BOOST_REQUIRE_EQUAL(drive(side, 64, 0), 0);
  BOOST_TEST(driven_outcome(side) == "0");
}

// shows: exs_send event ERANGE
BOOST_AUTO_TEST_CASE(a_send_longer_than_the_block_is_erange) {
  Memory small(64);
  BOOST_REQUIRE_EQUAL(
      exs_recv(pair.left, small.at(), 64, EXS_PERSISTENT, queue.handle(), nullptr, small.handle()), 0);
  BOOST_REQUIRE_EQUAL(drive(kSides[1], 64, 0), 0);  // so that the right end knows the offer
  BOOST_TEST(driven_outcome(kSides[1]) == "0");
  BOOST_REQUIRE_EQUAL(drive_plainly(kSides[1], 65), 0);
  const std::string outcome = driven_outcome(kSides[1]);
  BOOST_TEST(outcome == "ERANGE");
  BOOST_TEST(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES) == 1);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "ECANCELED");
}

// shows: exs_recv_offset event EINVAL
BOOST_AUTO_TEST_CASE(reading_a_message_at_an_offset_is_einval_and_leaves_it) {
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, block.at(), 64, 0, queue.handle(), nullptr, block.handle()), 0);
  BOOST_REQUIRE_EQUAL(drive(kSides[0], 64, 0), 0);
  BOOST_TEST(driven_outcome(kSides[0]) == "EINVAL");
  BOOST_REQUIRE_EQUAL(drive_plainly(kSides[0], 64), 0);
  BOOST_TEST(driven_outcome(kSides[0]) == "0");
  BOOST_TEST(same(64, 0));
}

// shows: exs_send_offset event EINVAL
BOOST_AUTO_TEST_CASE(writing_a_receive_at_an_offset_is_einval_and_leaves_it) {
  BOOST_REQUIRE_EQUAL(exs_recv(pair.left, block.at(), 64, 0, queue.handle(), nullptr, block.handle()), 0);
  BOOST_REQUIRE_EQUAL(drive(kSides[1], 64, 0), 0);
  BOOST_TEST(driven_outcome(kSides[1]) == "EINVAL");
  BOOST_REQUIRE_EQUAL(drive_plainly(kSides[1], 64), 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "0");
  BOOST_TEST(same(64, 0));
}

// Notices are combined: they use one slot, however often the peer uses the memory.
BOOST_DATA_TEST_CASE(notices_tell_everything_and_never_overflow, data::make(kSides), side) {
  Queue narrow(2);
  auto* const post = side.reads ? post_send : exs_recv;
  BOOST_REQUIRE_EQUAL(post(pair.left, block.at(), kBlockBytes, EXS_PERSISTENT | EXS_NOTIFY, narrow.handle(),
                           this, block.handle()),
                      0);
  constexpr unsigned kTransfers = 50;
  for (unsigned i = 0; i < kTransfers; ++i) {
    BOOST_REQUIRE_EQUAL(drive(side, 100, i), 0);
    BOOST_TEST(driven_outcome(side) == "0");
  }
  unsigned told = 0;
  std::size_t bytes = 0;
  while (told < kTransfers) {
    const exs_event_t notice = narrow.next_of(pair.left, side.notice_event);
    BOOST_TEST(notice.exs_evt_ahandle == static_cast<void*>(this));
    BOOST_TEST((notice.exs_evt_flags & EXS_EVF_MORE) != 0U);
    told += notice.exs_evt_union.exs_evt_xfer.exs_evt_count;
    bytes += notice.exs_evt_union.exs_evt_xfer.exs_evt_length;
    if (told == kTransfers) BOOST_TEST(notice.exs_evt_union.exs_evt_xfer.exs_evt_offset == kTransfers - 1);
  }
  BOOST_TEST(told == kTransfers);
  BOOST_TEST(bytes == 100 * kTransfers);
  BOOST_TEST(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES) == 1);
  BOOST_TEST(narrow.next_outcome(pair.left, side.owner_event) == "ECANCELED");
  BOOST_TEST(attribute(narrow.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

BOOST_DATA_TEST_CASE(the_direction_is_taken_until_it_is_cancelled, data::make(kSides), side) {
  BOOST_REQUIRE_EQUAL(own(side), 0);
  BOOST_TEST(outcome(own(side)) == "EBUSY");
  BOOST_TEST(exs_cancel(pair.left, this, EXS_CAF_AHANDLE) == 1);
  BOOST_TEST(queue.next_outcome(pair.left, side.owner_event) == "ECANCELED");
  BOOST_REQUIRE_EQUAL(own(side), 0);
  BOOST_TEST(exs_cancel(pair.left, this, EXS_CAF_AHANDLE) == 1);
  BOOST_TEST(queue.next_outcome(pair.left, side.owner_event) == "ECANCELED");
}

// shows: exs_recv_offset event ECANCELED, exs_send_offset event ECANCELED
BOOST_DATA_TEST_CASE(a_cancel_is_told_to_the_peer, data::make(kSides), side) {
  BOOST_REQUIRE_EQUAL(own(side), 0);
  BOOST_REQUIRE_EQUAL(drive(side, 64, 0), 0);
  BOOST_TEST(driven_outcome(side) == "0");
  BOOST_TEST(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES) == 1);
  const exs_event_t end = queue.next_of(pair.left, side.owner_event);
  BOOST_TEST(errno_name(end.exs_evt_errno) == "ECANCELED");
  BOOST_TEST(end.exs_evt_union.exs_evt_xfer.exs_evt_length == 64U);
  BOOST_REQUIRE_EQUAL(drive(side, 64, 0), 0);
  BOOST_TEST(driven_outcome(side) == "ECANCELED");
}

// shows: exs_send event EBUSY, exs_recv event EBUSY
BOOST_DATA_TEST_CASE(both_ends_persistent_the_second_is_busy, data::make(kSides), side) {
  BOOST_REQUIRE_EQUAL(own(side), 0);
  BOOST_REQUIRE_EQUAL(drive(side, 64, 0), 0);  // so that the peer knows the operation
  BOOST_TEST(driven_outcome(side) == "0");
  const Side& other = side.reads ? kSides[1] : kSides[0];
  BOOST_REQUIRE_EQUAL(own(other, 0, pair.right), 0);
  BOOST_TEST(queue.next_outcome(pair.right, other.owner_event) == "EBUSY");
  BOOST_REQUIRE_EQUAL(drive(side, 64, 0), 0);
  BOOST_TEST(driven_outcome(side) == "0");
}

BOOST_DATA_TEST_CASE(the_peers_end_ends_it, data::make(kSides), side) {
  BOOST_REQUIRE_EQUAL(own(side), 0);
  BOOST_REQUIRE_EQUAL(drive(side, 64, 0), 0);
  BOOST_TEST(driven_outcome(side) == "0");
  BOOST_TEST(exs_close(pair.right) == 0);
  const exs_event_t end = queue.next_of(pair.left, side.owner_event);
  if (side.reads) {
    BOOST_TEST(errno_name(end.exs_evt_errno) == "EPIPE");
  } else {
    BOOST_TEST(errno_name(end.exs_evt_errno) == "0");
    BOOST_TEST((end.exs_evt_flags & EXS_EVF_EOF) != 0U);
  }
}

BOOST_DATA_TEST_CASE(our_close_ends_it_first, data::make(kSides), side) {
  BOOST_REQUIRE_EQUAL(own(side), 0);
  const int left = pair.left;
  BOOST_TEST(exs_close(left) == 0);
  BOOST_TEST(queue.next_outcome(left, side.owner_event) == "ECANCELED");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
