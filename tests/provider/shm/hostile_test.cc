// A peer that breaks the rules loses its connection, or its channel, and touches nothing that is not open to
// it.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/provider/shm/hostile_peer.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;
namespace data = boost::unit_test::data;

namespace hostile_test {

// Two links on one channel: what is the first one's fault is not the second one's.
struct Fixture : HostilePair {
  Fixture() {
    join(kServerToken, bystander, second);
    turns(2);
  }

  void only_the_link_ends() {
    turns(3);
    BOOST_TEST(end_of() == EPROTO);
    BOOST_TEST(end_of(kServerToken) == -1);
    BOOST_TEST(!channel().is_over());
    // Its neighbour goes on.
    std::byte room[8];
    BOOST_REQUIRE(bystander->post_recv(slice_of(room), 5).ok());
    BOOST_REQUIRE(
        write(second.peer_number(), static_cast<std::uint16_t>(RecordKind::kMessage), text_bytes("hi")));
    turns(2);
    BOOST_TEST(port.take(CompletionKind::kReceive, kServerToken)->length_bytes == 2U);
  }
  void the_channel_ends() {
    turns(3);
    BOOST_TEST(end_of() == EPROTO);
    BOOST_TEST(end_of(kServerToken) == EPROTO);
    // The port lives and makes new connections.
    Half other_peer;
    Reason why;
    const auto pending = port->upgrade()->offer(why);
    BOOST_REQUIRE(pending.has_value());
    const auto request = other_peer.join(pending->invitation, kMeetingToken);
    std::optional<Completion> met;
    while (!met) {
      turn();
      other_peer.turn();
      met = other_peer.take(kMeetingToken);
    }
    BOOST_TEST(met->status.ok());
  }

  ChannelSlot second;
  std::unique_ptr<Link> bystander;
};

template <typename Body>
std::span<const std::byte> cut(const Body& body, std::size_t bytes) {
  return body_bytes(body).first(bytes);
}

}  // namespace hostile_test

BOOST_FIXTURE_TEST_SUITE(hostile_test, Fixture)

BOOST_AUTO_TEST_CASE(record_of_no_kind) {
  BOOST_REQUIRE(write(slot.peer_number(), 999, text_bytes("what?")));
  the_channel_ends();
}

BOOST_AUTO_TEST_CASE(record_of_no_kind_to_nobody) {
  BOOST_REQUIRE(write(0, 0, {}));
  the_channel_ends();
}

BOOST_DATA_TEST_CASE(bodies_of_a_wrong_length, data::xrange(6), what) {
  const ReadRequest request{};
  const ReadPiece read{};
  const WritePiece written{};
  std::byte longer[64] = {};
  switch (what) {
    case 0: BOOST_REQUIRE(write(RecordKind::kReadRequest, cut(request, sizeof request - 1))); break;
    case 1: BOOST_REQUIRE(write(RecordKind::kReadPiece, cut(read, sizeof read - 1))); break;
    case 2: BOOST_REQUIRE(write(RecordKind::kWritePiece, cut(written, sizeof written - 1))); break;
    case 3: BOOST_REQUIRE(write(RecordKind::kReadRequest, longer)); break;
    case 4: BOOST_REQUIRE(write(RecordKind::kReadPiece, {})); break;
    default: BOOST_REQUIRE(write(RecordKind::kWritePiece, longer)); break;
  }
  the_channel_ends();
}

BOOST_AUTO_TEST_CASE(piece_longer_than_pieces_are) {
  const WritePiece piece{0, 0, kPieceBytes + 1};
  BOOST_REQUIRE(write(RecordKind::kWritePiece, body_bytes(piece)));
  the_channel_ends();
}

BOOST_AUTO_TEST_CASE(read_under_a_claim_word_that_is_not_there) {
  const ReadRequest request{TransferWords::kClaims, 1, 0, 0, 0, 1};
  BOOST_REQUIRE(write(RecordKind::kReadRequest, body_bytes(request)));
  the_channel_ends();
}

BOOST_AUTO_TEST_CASE(more_pieces_taken_than_there_were) {
  transfer_words_of(channel().peer_segment()).pieces_taken.store(77);
  std::vector<std::byte> source(2'000'000);
  const auto window = link->expose(slice_of(source), Access::kRemoteRead);
  BOOST_REQUIRE(window.has_value());
  Claims claims(channel().segment());
  Claims::Ticket ticket;
  BOOST_REQUIRE(claims.open(ticket));
  const ReadRequest request{ticket.claim, ticket.generation, window->key, 0, window->address, source.size()};
  BOOST_REQUIRE(write(RecordKind::kReadRequest, body_bytes(request)));
  turns(10);
  the_channel_ends();
}

BOOST_AUTO_TEST_CASE(message_without_a_receive) {
  BOOST_REQUIRE(write(RecordKind::kMessage, text_bytes("unasked")));
  only_the_link_ends();
}

BOOST_AUTO_TEST_CASE(message_longer_than_its_receive) {
  std::byte room[8] = {};
  BOOST_REQUIRE(link->post_recv({room, 3, {}}, 1).ok());
  BOOST_REQUIRE(write(RecordKind::kMessage, text_bytes("long")));
  only_the_link_ends();
  BOOST_TEST((room[0] == std::byte{0} && room[3] == std::byte{0}));
}

BOOST_AUTO_TEST_CASE(second_greeting) {
  BOOST_REQUIRE(write(RecordKind::kReady, {}));
  only_the_link_ends();
}

BOOST_AUTO_TEST_CASE(answer_that_nobody_asked_for) {
  const ReadPiece piece{3, 4, 100};
  BOOST_REQUIRE(write(RecordKind::kReadPiece, body_bytes(piece)));
  only_the_link_ends();
}

BOOST_DATA_TEST_CASE(reads_and_writes_of_what_is_not_open, data::xrange(8), what) {
  std::vector<std::byte> memory = pattern(1000);
  const std::vector<std::byte> before = memory;
  const auto window = link->expose({memory.data() + 100, 500, {}}, Access::kRemoteRead);
  const auto writable = link->expose({memory.data() + 700, 100, {}}, Access::kRemoteWrite);
  BOOST_REQUIRE(window.has_value() && writable.has_value());
  Claims claims(channel().segment());
  Claims::Ticket ticket;
  BOOST_REQUIRE(claims.open(ticket));
  ReadRequest request{ticket.claim, ticket.generation, window->key, 0, window->address, 500};
  WritePiece piece{writable->address, writable->key, 100};
  switch (what) {
    case 0: request.key ^= 0x10000; break;
    case 1: request.address -= 1; break;
    case 2: request.length_bytes += 1; break;
    case 3: request.length_bytes = 0; break;
    case 4: request.length_bytes = UINT64_MAX - request.address; break;
    case 5: request = {ticket.claim, ticket.generation, writable->key, 0, writable->address, 1}; break;
    case 6: piece.address += 1; break;
    default: piece = {window->address, window->key, 1}; break;
  }
  if (what < 6) {
    BOOST_REQUIRE(write(RecordKind::kReadRequest, body_bytes(request)));
  } else {
    BOOST_REQUIRE(write(RecordKind::kWritePiece, body_bytes(piece)));
  }
  only_the_link_ends();
  BOOST_TEST((memory == before));
}

BOOST_AUTO_TEST_CASE(more_reads_at_once_than_agreed) {
  std::vector<std::byte> memory(3'000'000);
  const auto window = link->expose(slice_of(memory), Access::kRemoteRead);
  BOOST_REQUIRE(window.has_value());
  Claims claims(channel().segment());
  for (std::uint32_t i = 0; i <= depths.reads_in; ++i) {
    Claims::Ticket ticket;
    BOOST_REQUIRE(claims.open(ticket));
    const ReadRequest request{ticket.claim,    ticket.generation, window->key, 0,
                              window->address, memory.size()};
    BOOST_REQUIRE(write(RecordKind::kReadRequest, body_bytes(request)));
  }
  only_the_link_ends();
}

BOOST_AUTO_TEST_CASE(answer_longer_than_the_question) {
  Settings settings;
  settings.process_vm = false;
  HostilePair pair(settings);
  std::vector<std::byte> sink(100);
  BOOST_REQUIRE(pair.link->post_read(slice_of(std::span(sink).first(50)), {4096, 50, 1}, 7).ok());
  const ReadPiece piece{0, 1, 51};
  BOOST_REQUIRE(Claims::begin(pair.channel().peer_segment(), {0, 1}));
  std::memset(staging(pair.channel().segment(), 0).data(), 0xFF, kPieceBytes);
  BOOST_REQUIRE(pair.write(RecordKind::kReadPiece, body_bytes(piece)));
  pair.turns(3);
  BOOST_TEST(pair.end_of() == EPROTO);
  BOOST_TEST(std::all_of(sink.begin(), sink.end(), [](std::byte byte) { return byte == std::byte{0}; }));
}

BOOST_AUTO_TEST_CASE(claims_taken_and_nothing_sent) {
  Settings settings;
  HostilePair pair(settings);
  std::vector<std::byte> sink(100'000);
  BOOST_REQUIRE(pair.link->post_read(slice_of(sink), {4096, sink.size(), 1}, 7).ok());
  for (auto& claim : transfer_words_of(pair.channel().peer_segment()).claims) claim.store(0xFFFFFFFF);
  // Expect: the read waits, nothing spins, and it ends with its link.
  pair.turns(20);
  BOOST_TEST(pair.port.history(kClientToken).empty());
  BOOST_TEST(pair.port->arm());
  pair.port->disarm();
  pair.link->close();
  pair.port.collect();
  BOOST_TEST(pair.port.history(kClientToken) == "r7:" + std::to_string(ECANCELED) + " ");
}

BOOST_AUTO_TEST_CASE(closings_that_never_come) {
  transfer_words_of(channel().segment()).closings.store(12345);
  std::vector<std::byte> sink(100);
  BOOST_REQUIRE(link->post_read(slice_of(sink), {4096, 100, 1}, 7).ok());
  turns(10);
  BOOST_TEST(port.history(kClientToken).empty());
  BOOST_TEST(port->arm());
  port->disarm();
}

// It says that it is in the middle of our memory, and stays there: closing does not wait for ever.
BOOST_AUTO_TEST_CASE(access_that_never_ends) {
  transfer_words_of(channel().segment()).accessing.store(slot.peer_number());
  link->close();
  turns(3);
  BOOST_TEST(end_of(kServerToken) == ETIMEDOUT);
}

BOOST_AUTO_TEST_CASE(what_is_said_to_links_that_are_gone_is_let_pass) {
  const std::uint32_t number = slot.peer_number();
  link->close();
  link.reset();
  BOOST_REQUIRE(write(number, static_cast<std::uint16_t>(RecordKind::kMessage), text_bytes("late")));
  BOOST_REQUIRE(write(number, static_cast<std::uint16_t>(RecordKind::kEnd), {}));
  const WritePiece piece{0, 1, 5};
  BOOST_REQUIRE(write(number, static_cast<std::uint16_t>(RecordKind::kWritePiece), body_bytes(piece)));
  turns(3);
  BOOST_TEST(end_of(kServerToken) == -1);
  BOOST_TEST(transfer_words_of(channel().segment()).pieces_taken.load() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
