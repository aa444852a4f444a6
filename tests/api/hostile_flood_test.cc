// Peers that flood a server with frames that cost them nothing, and peers that guess the keys of windows: others are
// served on, and no memory is touched.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <thread>

#include "tests/api/hostile_server.h"

namespace exs::test {
namespace hostile_flood_test {

namespace data = boost::unit_test::data;
using wire::MessageType;

constexpr int kClientsDuringTheFlood = 20;

std::array<std::byte, iwarp::kTaggedHeaderBytes> tagged_header(std::uint32_t key, std::uint64_t offset,
                                                               std::uint32_t payload_bytes) {
  std::array<std::byte, iwarp::kTaggedHeaderBytes> header{};
  iwarp::store_tagged(header.data(), {.opcode = iwarp::Opcode::kWrite,
                                      .last = true,
                                      .stag = key,
                                      .offset = offset,
                                      .payload_bytes = payload_bytes});
  return header;
}

// Many of it, framed.
Bytes many(std::span<const std::byte> header) {
  Bytes frames;
  for (int i = 0; i < 3000; ++i) {
    frames.insert(frames.end(), header.begin(), header.end());
    frames.resize(frames.size() + iwarp::trailer_bytes(header.size()));
  }
  return frames;
}

struct Server : HostileServer {
  int accept_hostile(RawPeer& peer) {
    post_accept();
    peer.request(honest_hello());
    const int socket = accepted();
    BOOST_REQUIRE(peer.take_handshake());
    peer.message(MessageType::kReady);
    return socket;
  }
};

}  // namespace hostile_flood_test

BOOST_FIXTURE_TEST_SUITE(hostile_flood_test, Server)

BOOST_DATA_TEST_CASE(others_are_served_during_a_flood, data::xrange(2), what) {
  Bytes flood = many(tagged_header(0, 0, 0));
  if (what == 1) {
    std::array<std::byte, iwarp::kUntaggedHeaderBytes> header{};
    iwarp::store_untagged(header.data(), {.opcode = iwarp::Opcode::kSend,
                                          .last = false,
                                          .queue = iwarp::kSendQueue,
                                          .message = 2,  // READY was the first
                                          .message_offset = 0,
                                          .payload_bytes = 0});
    flood = many(header);
  }
  RawPeer peer(address);
  const int socket = accept_hostile(peer);
  std::thread flooding([&] {
    while (peer.send(flood)) continue;
  });
  for (int i = 0; i < kClientsDuringTheFlood; ++i) serve_a_good_client();
  // It answers nothing, so the close is not waited for.
  set_option(socket, EXS_SO_LINGER_MS, 0);
  BOOST_TEST(outcome(exs_close(socket)) == "ok");
  flooding.join();
}

// A guess that misses costs the guesser its connection, whatever it was to be used for.
BOOST_DATA_TEST_CASE(a_guess_of_a_key_ends_the_connection, data::xrange(6), what) {
  memory.fill(9);
  const Bytes before(memory.at(), memory.at(1 << 16));
  RawPeer peer(address);
  const int socket = accept_hostile(peer);
  // One window to be read, one to be written.
  BOOST_REQUIRE_EQUAL(send(socket), 0);
  BOOST_REQUIRE_EQUAL(
      exs_recv(socket, memory.at(1 << 15), 4096, EXS_PERSISTENT, queue.handle(), nullptr, memory.handle()),
      0);
  wire::Advert readable;
  wire::Advert writable;
  while (readable.length_bytes == 0 || writable.length_bytes == 0) {
    const auto message = peer.next_message();
    BOOST_REQUIRE(message.has_value());
    if (message->header.type == MessageType::kAdvert) readable = message->advert;
    if (message->header.type == MessageType::kOffer) writable = message->advert;
  }
  const auto read = [&peer](std::uint32_t key, std::uint64_t from) {
    peer.read_request(
        {.sink_stag = 1, .sink_offset = 0, .length_bytes = 8, .source_stag = key, .source_offset = from});
  };
  const auto write = [&peer](std::uint32_t key, std::uint64_t to) {
    peer.frame(tagged_header(key, to, 8), Bytes(8, std::byte{0xEE}));
  };
  const CapturedLog log;
  switch (what) {
    case 0: read(readable.key + 1, readable.address); break;
    case 1: read(writable.key, writable.address); break;  // the right key, the wrong direction
    case 2: write(writable.key + 1, writable.address); break;
    case 3: write(readable.key, readable.address); break;  // likewise
    case 4: write(writable.key, writable.address + 4096 - 7); break;
    default: write(writable.key, writable.address - 1); break;
  }
  peer.await_end();
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_SEND) == "EPROTO");
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_RECV) == "EPROTO");
  BOOST_TEST(log.lines_once_there() == 1U);
  BOOST_TEST(log.text().find(what < 2 ? "read outside its window" : "write outside its window") !=
             std::string::npos);
  BOOST_TEST(std::equal(before.begin(), before.end(), memory.at()));
  BOOST_TEST(outcome(exs_close(socket)) == "ok");
  serve_a_good_client();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
