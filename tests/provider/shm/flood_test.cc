// Records that cost their sender nothing, in a flood: one look of the port takes a bounded number of them, and what
// another process says is heard in that look.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "tests/provider/shm/hostile_peer.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;
namespace data = boost::unit_test::data;

namespace flood_test {

constexpr std::uint64_t kRecordsPerLookMax = 256;
constexpr std::uint32_t kNobody = 0xFFFF;

// The flood comes from the peer of HostilePair; `other` is a peer of the same port without fault.
struct Flood : HostilePair {
  Flood() : HostilePair({}, {64, 64, 64, 64}) {
    join(other, kServerToken, other_link, other_slot);
    turns(2);
  }
  // Until the ring is full.
  void fill_with(RecordKind kind, std::span<const std::byte> body, std::uint32_t to) {
    while (write(to, static_cast<std::uint16_t>(kind), body)) ++in_ring;
  }
  void say_something(std::uint32_t number) {
    BOOST_REQUIRE(other_link->post_recv(slice_of(room), number).ok());
    const RecordHeader header{other_slot.peer_number(), static_cast<std::uint16_t>(RecordKind::kMessage), 0,
                              0};
    BOOST_REQUIRE(other_slot.channel().out().write(header, text_bytes("hi")));
  }

  Half other;
  ChannelSlot other_slot;
  std::unique_ptr<Link> other_link;
  std::byte room[8];
  std::uint64_t in_ring = 0;
};

}  // namespace flood_test

BOOST_FIXTURE_TEST_SUITE(flood_test, Flood)

BOOST_DATA_TEST_CASE(every_look_is_bounded, data::xrange(4), what) {
  const WritePiece piece{0, 1, kPieceBytes};
  switch (what) {
    case 0: fill_with(RecordKind::kMessage, {}, kNobody); break;
    case 1: fill_with(RecordKind::kEnd, {}, kNobody); break;
    case 2: fill_with(RecordKind::kReady, {}, kNobody); break;
    default: fill_with(RecordKind::kWritePiece, body_bytes(piece), kNobody); break;
  }
  BOOST_REQUIRE(in_ring > 2 * kRecordsPerLookMax);
  std::uint64_t taken = 0;
  for (std::uint32_t looks = 1; taken < in_ring; ++looks) {
    say_something(looks);
    const std::uint64_t before = port->arrivals();
    port.turn();
    BOOST_REQUIRE(port.take(CompletionKind::kReceive, kServerToken).has_value());
    const std::uint64_t of_the_flood = port->arrivals() - before - 1;
    BOOST_REQUIRE(of_the_flood > 0U);
    BOOST_REQUIRE(of_the_flood <= kRecordsPerLookMax);
    taken += of_the_flood;
  }
  BOOST_TEST(taken == in_ring);
  BOOST_TEST(end_of() == -1);
  BOOST_TEST(end_of(kServerToken) == -1);
}

// It is no flood, as nobody asks for nothing: the connection ends.
BOOST_AUTO_TEST_CASE(reads_of_nothing_end_the_connection) {
  std::vector<std::byte> memory(1000);
  const auto window = link->expose(slice_of(memory), Access::kRemoteRead);
  BOOST_REQUIRE(window.has_value());
  const ReadRequest request{0, 1, window->key, 0, window->address, 0};
  fill_with(RecordKind::kReadRequest, body_bytes(request), slot.peer_number());
  say_something(1);
  port.turn();
  BOOST_TEST(end_of() == EPROTO);
  BOOST_TEST(port.take(CompletionKind::kReceive, kServerToken).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
