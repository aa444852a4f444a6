// Peers that violate the protocol after the handshake: every operation of the connection ends with EPROTO,
// the server logs one line, keeps no descriptor, and serves other clients.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <string>

#include "tests/api/hostile_server.h"

namespace exs::test {
namespace hostile_message_test {

using wire::MessageType;

struct Server : HostileServer {
  Server() : HostileServer(200) {}

  // Two receives and a normal send are open at the server when `attack` begins.
  template <typename Attack>
  void expect_ended(Attack attack, bool ready = true, const std::string& expected = "EPROTO") {
    const std::size_t descriptors = open_descriptors();
    {
      const CapturedLog log;
      RawPeer peer(address);
      post_accept();
      peer.request(honest_hello());
      const int socket = accepted();
      BOOST_REQUIRE_EQUAL(receive(socket), 0);
      BOOST_REQUIRE_EQUAL(receive(socket), 0);
      BOOST_REQUIRE_EQUAL(send(socket), 0);
      BOOST_REQUIRE(peer.take_handshake());
      if (ready) peer.message(MessageType::kReady);
      attack(peer);
      BOOST_TEST(queue.next_outcome(socket, EXS_EVT_SEND) == expected);
      for (int i = 0; i < 2; ++i) {
        const std::string received = queue.next_outcome(socket, EXS_EVT_RECV);
        BOOST_TEST((received == expected || received == "0" || received == "EPROTO"));
      }
      peer.await_end();
      BOOST_TEST(outcome(exs_close(socket)) == "ok");
      BOOST_TEST(log.lines_once_there() == 1U);
    }
    await_descriptors(descriptors);
    serve_a_good_client();
  }

  // Receives the advert of the window of the server's send.
  static wire::Advert advert_of(RawPeer& peer) {
    const auto message = peer.next_message(MessageType::kAdvert);
    BOOST_REQUIRE(message.has_value());
    return message->advert;
  }
  static void read(RawPeer& peer, std::uint32_t key, std::uint64_t address_of_read,
                   std::uint32_t length_bytes) {
    peer.read_request({.sink_stag = 0x1234,
                       .sink_offset = 0,
                       .length_bytes = length_bytes,
                       .source_stag = key,
                       .source_offset = address_of_read});
  }
  static void tagged(RawPeer& peer, iwarp::Opcode opcode, std::uint32_t key, std::uint64_t offset) {
    std::array<std::byte, iwarp::kTaggedHeaderBytes> header{};
    iwarp::store_tagged(header.data(),
                        {.opcode = opcode, .last = true, .stag = key, .offset = offset, .payload_bytes = 8});
    peer.frame(header, Bytes(8));
  }
  static wire::Message ack(std::uint32_t sequence, std::uint64_t bytes_taken) {
    wire::Message message;
    message.header = {MessageType::kAck, 0, 1, sequence};
    message.ack.bytes_taken = bytes_taken;
    return message;
  }
  static wire::Message immediate(std::uint32_t sequence) {
    wire::Message message;
    message.header = {MessageType::kImmediate, 0, 0, sequence};
    return message;
  }
};

}  // namespace hostile_message_test

BOOST_FIXTURE_TEST_SUITE(hostile_message_test, Server)

BOOST_AUTO_TEST_CASE(garbage_instead_of_frames) {
  expect_ended([](RawPeer& peer) { peer.send(Bytes(64, std::byte{0xff})); });
}

BOOST_AUTO_TEST_CASE(silence_instead_of_the_first_message) {
  expect_ended([](RawPeer&) {}, false, "ETIMEDOUT");
}

BOOST_AUTO_TEST_CASE(a_message_before_ready) {
  expect_ended([](RawPeer& peer) { peer.message(MessageType::kCredit, 0, 1); }, false);
}

BOOST_AUTO_TEST_CASE(ready_twice) {
  expect_ended([](RawPeer& peer) { peer.message(MessageType::kReady); });
}

BOOST_AUTO_TEST_CASE(an_unknown_message) {
  expect_ended([](RawPeer& peer) { peer.message_bytes(Bytes(8, std::byte{99})); });
}

BOOST_AUTO_TEST_CASE(an_empty_message) {
  expect_ended([](RawPeer& peer) { peer.message_bytes({}); });
}

BOOST_AUTO_TEST_CASE(a_message_cut_short) {
  expect_ended([](RawPeer& peer) { peer.message_bytes(Bytes(3, std::byte{2})); });
}

BOOST_AUTO_TEST_CASE(a_data_message_out_of_sequence) {
  expect_ended([](RawPeer& peer) { peer.message(immediate(5)); });
}

BOOST_AUTO_TEST_CASE(more_data_messages_than_credits) {
  expect_ended([](RawPeer& peer) {
    for (std::uint32_t i = 1; i <= 33; ++i) peer.message(immediate(i));
  });
}

BOOST_AUTO_TEST_CASE(an_immediate_longer_than_agreed) {
  expect_ended([](RawPeer& peer) { peer.message(immediate(1), Bytes(2000)); });
}

BOOST_AUTO_TEST_CASE(an_advert_around_the_end_of_the_address_space) {
  expect_ended([](RawPeer& peer) {
    wire::Message message;
    message.header = {MessageType::kAdvert, 0, 0, 1};
    message.advert = {.address = UINT64_MAX - 10, .length_bytes = 100, .key = 1};
    peer.message(message);
  });
}

BOOST_AUTO_TEST_CASE(an_ack_of_what_was_not_sent) {
  expect_ended([](RawPeer& peer) {
    advert_of(peer);
    peer.message(ack(7, 0));
  });
}

BOOST_AUTO_TEST_CASE(an_ack_of_more_bytes_than_were_offered) {
  expect_ended([](RawPeer& peer) {
    const wire::Advert advert = advert_of(peer);
    peer.message(ack(1, advert.length_bytes + 1));
  });
}

BOOST_AUTO_TEST_CASE(credits_that_were_never_spent) {
  expect_ended([](RawPeer& peer) { peer.message(MessageType::kCredit, 0, 2); });
}

BOOST_AUTO_TEST_CASE(a_shutdown_of_nothing) {
  expect_ended([](RawPeer& peer) { peer.message_bytes(Bytes{std::byte{6}, {}, {}, {}, {}, {}, {}, {}}); });
}

BOOST_AUTO_TEST_CASE(data_after_a_shutdown_of_sending) {
  expect_ended([](RawPeer& peer) {
    peer.message(MessageType::kShutdown, wire::kShutdownSending);
    peer.message(immediate(1));
  });
}

BOOST_AUTO_TEST_CASE(an_answer_to_a_close_that_was_not_asked) {
  expect_ended([](RawPeer& peer) { peer.message(MessageType::kCloseAck); });
}

BOOST_AUTO_TEST_CASE(a_read_of_a_key_that_was_never_advertised) {
  expect_ended([](RawPeer& peer) {
    const wire::Advert advert = advert_of(peer);
    read(peer, advert.key ^ 1U, advert.address, 8);
  });
}

BOOST_AUTO_TEST_CASE(a_read_beyond_the_end_of_the_window) {
  expect_ended([](RawPeer& peer) {
    const wire::Advert advert = advert_of(peer);
    read(peer, advert.key, advert.address, static_cast<std::uint32_t>(advert.length_bytes) + 1);
  });
}

BOOST_AUTO_TEST_CASE(a_read_in_front_of_the_window) {
  expect_ended([](RawPeer& peer) {
    const wire::Advert advert = advert_of(peer);
    read(peer, advert.key, advert.address - 1, 8);
  });
}

BOOST_AUTO_TEST_CASE(a_read_whose_end_wraps) {
  expect_ended([](RawPeer& peer) {
    const wire::Advert advert = advert_of(peer);
    read(peer, advert.key, UINT64_MAX - 3, 8);
  });
}

BOOST_AUTO_TEST_CASE(a_write_into_a_window_that_may_only_be_read) {
  expect_ended([](RawPeer& peer) {
    const wire::Advert advert = advert_of(peer);
    tagged(peer, iwarp::Opcode::kWrite, advert.key, advert.address);
  });
}

BOOST_AUTO_TEST_CASE(a_read_of_a_window_that_is_shut_again) {
  expect_ended(
      [](RawPeer& peer) {
        const wire::Advert advert = advert_of(peer);
        peer.message(ack(1, advert.length_bytes));
        read(peer, advert.key, advert.address, 8);
      },
      true, "0");
}

BOOST_AUTO_TEST_CASE(a_read_response_nobody_asked_for) {
  expect_ended([](RawPeer& peer) { tagged(peer, iwarp::Opcode::kReadResponse, 0x100, 0); });
}

BOOST_AUTO_TEST_CASE(more_reads_at_once_than_agreed) {
  expect_ended([](RawPeer& peer) {
    const wire::Advert advert = advert_of(peer);
    for (int i = 0; i < 5000; ++i) read(peer, advert.key, advert.address, 4096);
  });
}

BOOST_AUTO_TEST_CASE(the_window_was_read_as_it_should_be_until_the_peer_broke_a_rule) {
  memory.fill(9);
  expect_ended([this](RawPeer& peer) {
    const wire::Advert advert = advert_of(peer);
    read(peer, advert.key, advert.address + 100, 50);
    const Bytes response = peer.receive(iwarp::kTaggedHeaderBytes + 50 + iwarp::trailer_bytes(66));
    BOOST_REQUIRE(response.size() >= iwarp::kTaggedHeaderBytes + 50);
    BOOST_TEST(std::equal(memory.at(100), memory.at(150), response.begin() + iwarp::kTaggedHeaderBytes));
    peer.message(MessageType::kReady);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
