// Golden bytes: the layouts of iWARP as other implementations put them on the wire.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "src/provider/iwarp/fpdu.h"
#include "src/provider/iwarp/mpa.h"
#include "src/provider/iwarp/terminate.h"
#include "src/provider/iwarp/transmitter.h"
#include "tests/provider/iwarp/frames.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;

namespace codec_test {

struct Silent : TransmitterClient {
  void message_left(MessageKind, std::uint64_t) override {}
  void message_dropped(MessageKind, std::uint64_t) override {}
};

// What a transmitter puts on the wire for what `post` queues.
template <typename Post>
std::string wire_of(bool crc, std::uint32_t payload_max, Post post) {
  Silent client;
  ChunkPool chunks;
  ReadBudget reads{8, 0};
  Transmitter transmitter(client, chunks, reads);
  transmitter.configure(crc, payload_max, payload_max);
  transmitter.open();
  post(transmitter);
  Bytes wire;
  iovec entries[4];
  while (const std::size_t count = transmitter.gather(entries)) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto* start = static_cast<const std::byte*>(entries[i].iov_base);
      wire.insert(wire.end(), start, start + entries[i].iov_len);
      bytes += entries[i].iov_len;
    }
    transmitter.sent(bytes);
  }
  return to_hex(wire);
}

std::string hex(std::string_view spaced) {
  return to_hex(from_hex(spaced));
}

}  // namespace codec_test

BOOST_AUTO_TEST_SUITE(codec_test)

BOOST_AUTO_TEST_CASE(crc_is_castagnoli_and_stored_little_endian) {
  const char digits[] = "123456789";
  std::byte stored[4];
  store_crc(stored, crc_add(kCrcStart, std::as_bytes(std::span(digits, 9))));
  BOOST_TEST(to_hex(stored) == "839206e3");
  BOOST_TEST(crc_matches(stored, crc_add(kCrcStart, std::as_bytes(std::span(digits, 9)))));
  stored[2] ^= std::byte{1};
  BOOST_TEST(!crc_matches(stored, crc_add(kCrcStart, std::as_bytes(std::span(digits, 9)))));
}

BOOST_AUTO_TEST_CASE(zero_length_write) {
  BOOST_TEST(wire_of(false, kPayloadMax, [](Transmitter& t) { t.queue_write({}, 1, 0, 0); }) ==
             hex("000e c140 00000001 0000000000000000 00000000"));
}

BOOST_AUTO_TEST_CASE(read_request_of_rping) {
  std::byte frame[kReadRequestBytes];
  store_read_request(frame, 1, {0x6d549200, 0x000055b89ae366c0, 0x40, 0xabcd0100, 0x1000});
  BOOST_TEST(to_hex(frame) ==
             hex("002e 4141 00000000 00000001 00000001 00000000 6d549200 000055b89ae366c0 00000040"
                 "abcd0100 0000000000001000"));
  const ReadRequest back = load_read_request(frame);
  BOOST_TEST(back.sink_stag == 0x6d549200U);
  BOOST_TEST(back.sink_offset == 0x000055b89ae366c0U);
  BOOST_TEST(back.length_bytes == 0x40U);
  BOOST_TEST(back.source_stag == 0xabcd0100U);
  BOOST_TEST(back.source_offset == 0x1000U);
}

BOOST_AUTO_TEST_CASE(send_in_one_and_in_two_fpdus) {
  const Bytes payload = from_hex("0102030405");
  const auto post = [&](Transmitter& t) {
    t.queue_send(std::span(payload).first(2), std::span(payload).subspan(2), 0);
    t.queue_send({}, {}, 0);
  };
  BOOST_TEST(wire_of(false, kPayloadMax, post) ==
             hex("0017 4143 00000000 00000000 00000001 00000000 0102030405 000000 00000000"
                 "0012 4143 00000000 00000000 00000002 00000000 00000000"));
  BOOST_TEST(wire_of(false, 4, post) == hex("0016 0143 00000000 00000000 00000001 00000000 01020304 00000000"
                                            "0013 4143 00000000 00000000 00000001 00000004 05 000000 00000000"
                                            "0012 4143 00000000 00000000 00000002 00000000 00000000"));
}

BOOST_AUTO_TEST_CASE(write_and_read_response) {
  const Bytes payload = from_hex("aabbccdd");
  BOOST_TEST(wire_of(false, kPayloadMax,
                     [&](Transmitter& t) {
                       t.queue_write(payload, 0x11223344, 0x8877, 0);
                       t.queue_response({0x55667788, 0x100, 4, 9, 9}, payload.data());
                     }) == hex("0012 c142 55667788 0000000000000100 aabbccdd 00000000"
                               "0012 c140 11223344 0000000000008877 aabbccdd 00000000"));
}

BOOST_AUTO_TEST_CASE(crc_covers_header_payload_and_pad) {
  const Bytes payload = from_hex("01020304050607");
  const std::string wire =
      wire_of(true, kPayloadMax, [&](Transmitter& t) { t.queue_write(payload, 5, 6, 0); });
  BOOST_TEST(wire == to_hex(write_fpdu(5, 6, payload)));
}

BOOST_AUTO_TEST_CASE(terminate_quotes_the_offending_header) {
  const Bytes write = write_fpdu(7, 8, {});
  TerminateFrame frame = make_terminate(kTaggedBounds, std::span(write).first(kTaggedHeaderBytes), false);
  BOOST_TEST(to_hex(std::span(frame.bytes).first(frame.length)) ==
             hex("0026 4147 00000000 00000002 00000001 00000000 1101c000 000e c140 00000007 0000000000000008 "
                 "00000000"));
  const Bytes read = read_request_fpdu(1, 2, 3, 4, 5);
  frame = make_terminate(kReadBadStag, std::span(read).first(kReadRequestBytes), false);
  BOOST_TEST(to_hex(std::span(frame.bytes).first(frame.length)) ==
             hex("0046 4147 00000000 00000002 00000001 00000000 0100e000") +
                 to_hex(std::span(read).first(kReadRequestBytes)) + "00000000");
  frame = make_terminate(kBadCrc, {}, true);
  Untagged head;
  head.rdmap = 0x47;
  head.queue = 2;
  BOOST_TEST(to_hex(std::span(frame.bytes).first(frame.length)) ==
             to_hex(untagged_fpdu(head, from_hex("20020000"))));
}

BOOST_AUTO_TEST_CASE(mpa_request_of_revision_two) {
  MpaFrame frame;
  frame.inbound_reads = 8;
  frame.outbound_reads = 8;
  MpaBytes bytes = encode_mpa(frame);
  const std::string key = to_hex(std::as_bytes(std::span("MPA ID Req Frame", 16)));
  BOOST_TEST(to_hex(std::span(bytes.bytes).first(bytes.length)) == key + hex("10 02 0004 0008 0008"));
  frame.is_exs = true;
  frame.crc = true;
  const Bytes user = from_hex("f00d");
  frame.private_data = user;
  bytes = encode_mpa(frame);
  BOOST_TEST(to_hex(std::span(bytes.bytes).first(bytes.length)) ==
             key + hex("50 02 000a 0008 0008 45585357 f00d"));
}

BOOST_AUTO_TEST_CASE(round_robin_between_own_messages_and_answers) {
  const Bytes payload = from_hex("00");
  const std::string wire = wire_of(false, kPayloadMax, [&](Transmitter& t) {
    for (std::uint32_t i = 0; i < 3; ++i) t.queue_write(payload, 0xA, i, 0);
    for (std::uint32_t i = 0; i < 2; ++i) t.queue_response({0xB, i, 1, 9, 9}, payload.data());
  });
  std::string order;
  for (std::size_t at = 0; at < wire.size(); at += 48) order += wire.substr(at + 6, 2);
  BOOST_TEST(order == "4240424040");
}

BOOST_AUTO_TEST_CASE(read_beyond_the_budget_holds_back_what_follows_it) {
  Silent client;
  ChunkPool chunks;
  ReadBudget reads{1, 0};
  Transmitter transmitter(client, chunks, reads);
  transmitter.open();
  transmitter.queue_read({1, 0, 10, 2, 0}, 0);
  transmitter.queue_read({3, 0, 10, 4, 0}, 0);
  transmitter.queue_send({}, {}, 0);
  iovec entries[8];
  BOOST_TEST(transmitter.gather(entries) == 1U);
  // Expect: only the first request leaves.
  BOOST_TEST(entries[0].iov_len == 52U);
  transmitter.sent(52);
  BOOST_TEST(!transmitter.has_work());
  --reads.on_wire;
  // Expect: once it is answered, the second request and the message follow.
  BOOST_TEST(transmitter.has_work());
  std::size_t bytes = 0;
  for (std::size_t i = 0, count = transmitter.gather(entries); i < count; ++i) bytes += entries[i].iov_len;
  BOOST_TEST(bytes == 52U + 24U);
}

BOOST_AUTO_TEST_SUITE_END()
