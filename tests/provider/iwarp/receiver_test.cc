// The receive state machine: any split of the stream, and everything a peer may do wrong.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "tests/provider/iwarp/frames.h"
#include "tests/support/property.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;

namespace receiver_test {

Bytes counted(std::size_t length) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

constexpr std::size_t kSizes[] = {0, 1, 2, 3, 4, 5, 1436, 65472};

// Every message type once, with `size` bytes where a size may be chosen.
Bytes valid_stream(const ReceiverRig& rig, std::size_t size) {
  const Bytes read = counted(rig.sink.size());
  const std::size_t half = std::min<std::size_t>(read.size() / 2, 60000);
  Untagged second;
  second.number = 2;
  second.rdmap = 0x45;
  second.ddp = 0x01;
  Untagged rest = second;
  rest.ddp = 0x41;
  rest.offset = static_cast<std::uint32_t>(size);
  Bytes stream =
      joined({send_fpdu(1, counted(size)), tagged_fpdu(0xC1, 0x40, 1, 0, {}),
              write_fpdu(rig.write_stag, 10, counted(std::min<std::size_t>(size, 900))),
              untagged_fpdu(second, counted(size)), read_request_fpdu(1, 4, 100, rig.read_stag, 900)});
  std::size_t at = 0;
  while (at + half < read.size() && half > 0) {
    stream = joined({stream, tagged_fpdu(0x81, 0x42, ReceiverRig::kSink, at,
                                         Bytes(read.begin() + static_cast<long>(at),
                                               read.begin() + static_cast<long>(at + half)))});
    at += half;
  }
  return joined({stream,
                 tagged_fpdu(0xC1, 0x42, ReceiverRig::kSink, at,
                             Bytes(read.begin() + static_cast<long>(at), read.end())),
                 untagged_fpdu(rest, counted(1)), read_request_fpdu(2, 4, 0, 0, 0)});
}

struct Wrong {
  const char* name;
  TerminateCode code;
  std::size_t quoted;  // header bytes in the Terminate
  std::function<Bytes(ReceiverRig&)> stream;
};

Bytes with_byte(Bytes frame, std::size_t at, unsigned value) {
  frame[at] = static_cast<std::byte>(value);
  return frame;
}

Untagged untagged(unsigned ddp, unsigned rdmap, std::uint32_t queue, std::uint32_t number,
                  std::uint32_t offset = 0) {
  return {ddp, rdmap, 0, queue, number, offset};
}

const std::vector<Wrong>& wrongs() {
  static const std::vector<Wrong> table = {
      {"ULPDU shorter than a tagged header", kBadFraming, 0,
       [](auto&) { return from_hex("000d c140 00000001"); }},
      {"ULPDU shorter than an untagged header", kBadFraming, 0,
       [](auto&) { return from_hex("0011 4143 00000001"); }},
      {"ULPDU of no bytes", kBadFraming, 0, [](auto&) { return from_hex("0000 c140"); }},
      {"read request shorter than its body", kBadFraming, 0,
       [](auto&) { return from_hex("002d 4141 00000000"); }},
      {"terminate without its word", kBadFraming, 0, [](auto&) { return from_hex("0012 4147 00000000"); }},
      {"DDP version 0, tagged", kTaggedVersion, 0, [](auto&) { return from_hex("000e c040 00000001"); }},
      {"DDP version 2, untagged", kUntaggedVersion, 0, [](auto&) { return from_hex("0012 4243 00000001"); }},
      {"RDMAP version 0", kRdmapVersion, 0, [](auto&) { return from_hex("0012 4103 00000001"); }},
      {"opcode 8", kUnexpectedOpcode, 0, [](auto&) { return from_hex("0012 4148 00000001"); }},
      {"opcode 15", kUnexpectedOpcode, 0, [](auto&) { return from_hex("0012 414f 00000001"); }},
      {"tagged send", kUnexpectedOpcode, 0, [](auto&) { return from_hex("0012 c143 00000001"); }},
      {"untagged write", kUnexpectedOpcode, 0, [](auto&) { return from_hex("0012 4140 00000001"); }},
      {"send on queue 1", kBadQueue, 20, [](auto&) { return untagged_fpdu(untagged(0x41, 0x43, 1, 1), {}); }},
      {"send on queue 2^32-1", kBadQueue, 20,
       [](auto&) { return untagged_fpdu(untagged(0x41, 0x43, ~0U, 1), {}); }},
      {"read request on queue 0", kBadQueue, 48,
       [](ReceiverRig& r) { return read_request_fpdu(1, 4, 1, r.read_stag, 0, 0x41, 0); }},
      {"send number 0", kBadMessageNumber, 20, [](auto&) { return send_fpdu(0, {}); }},
      {"send number from the future", kBadMessageNumber, 20, [](auto&) { return send_fpdu(2, {}); }},
      {"send number repeated", kBadMessageNumber, 20,
       [](auto&) {
         return joined({send_fpdu(1, {}), send_fpdu(1, {})});
       }},
      {"read request number from the future", kBadMessageNumber, 48,
       [](ReceiverRig& r) { return read_request_fpdu(2, 4, 1, r.read_stag, 0); }},
      {"send offset ahead", kBadMessageOffset, 20,
       [](auto&) { return untagged_fpdu(untagged(0x41, 0x43, 0, 1, 4), {}); }},
      {"send offset not continued", kBadMessageOffset, 20,
       [](auto&) {
         return joined({untagged_fpdu(untagged(0x01, 0x43, 0, 1), counted(8)),
                        untagged_fpdu(untagged(0x41, 0x43, 0, 1, 4), counted(8))});
       }},
      {"read request with an offset", kBadMessageOffset, 48,
       [](ReceiverRig& r) { return with_byte(read_request_fpdu(1, 4, 1, r.read_stag, 0), 19, 1); }},
      {"read request that is not the last segment", kBadMessageOffset, 48,
       [](ReceiverRig& r) { return read_request_fpdu(1, 4, 1, r.read_stag, 0, 0x01); }},
      {"send with no receive posted", kNoReceive, 20,
       [](ReceiverRig& r) {
         r.receiver.drop_receives();
         return send_fpdu(1, {});
       }},
      {"send longer than its receive", kMessageTooLong, 20, [](auto&) { return send_fpdu(1, counted(101)); }},
      {"send longer than its receive in its second segment", kMessageTooLong, 20,
       [](auto&) {
         return joined({untagged_fpdu(untagged(0x01, 0x43, 0, 1), counted(100)),
                        untagged_fpdu(untagged(0x41, 0x43, 0, 1, 100), counted(1))});
       }},
      {"send with invalidate", kCannotInvalidate, 20,
       [](auto&) { return untagged_fpdu(untagged(0x41, 0x44, 0, 1), {}); }},
      {"solicited send with invalidate", kCannotInvalidate, 20,
       [](auto&) { return untagged_fpdu(untagged(0x41, 0x46, 0, 1), {}); }},
      {"write with an unknown key", kTaggedBadStag, 16,
       [](ReceiverRig& r) { return write_fpdu(r.write_stag ^ 1, 0, counted(1)); }},
      {"write with a key of an unused slot", kTaggedBadStag, 16,
       [](ReceiverRig& r) { return write_fpdu(r.write_stag ^ 0x80000000, 0, counted(1)); }},
      {"write with a withdrawn key", kTaggedBadStag, 16,
       [](ReceiverRig& r) {
         BOOST_REQUIRE(r.windows.close(r.write_stag).ok());
         BOOST_REQUIRE(r.windows.open(r.writable, Access::kRemoteWrite).has_value());
         return write_fpdu(r.write_stag, 0, counted(1));
       }},
      {"write one past the end", kTaggedBounds, 16,
       [](ReceiverRig& r) { return write_fpdu(r.write_stag, 1000, counted(1)); }},
      {"write across the end", kTaggedBounds, 16,
       [](ReceiverRig& r) { return write_fpdu(r.write_stag, 999, counted(2)); }},
      {"write whose second segment is outside", kTaggedBounds, 16,
       [](ReceiverRig& r) {
         return joined({tagged_fpdu(0x81, 0x40, r.write_stag, 900, counted(100)),
                        tagged_fpdu(0x81, 0x40, r.write_stag, 1000, counted(100)),
                        tagged_fpdu(0xC1, 0x40, r.write_stag, 500, counted(100))});
       }},
      {"write whose offset wraps", kTaggedOffsetWraps, 16,
       [](ReceiverRig& r) { return write_fpdu(r.write_stag, ~0ULL, counted(2)); }},
      {"write into a window for reading", kAccessDenied, 16,
       [](ReceiverRig& r) { return write_fpdu(r.read_stag, 0, counted(1)); }},
      {"read with an unknown key", kReadBadStag, 48,
       [](ReceiverRig& r) { return read_request_fpdu(1, 4, 1, r.read_stag ^ 1, 0); }},
      {"read past the end", kReadBounds, 48,
       [](ReceiverRig& r) { return read_request_fpdu(1, 4, 1001, r.read_stag, 0); }},
      {"read whose offset wraps", kReadOffsetWraps, 48,
       [](ReceiverRig& r) { return read_request_fpdu(1, 4, 2, r.read_stag, ~0ULL); }},
      {"read from a window for writing", kAccessDenied, 48,
       [](ReceiverRig& r) { return read_request_fpdu(1, 4, 1, r.write_stag, 0); }},
      {"read request with bytes behind it", kMessageTooLong, 48,
       [](ReceiverRig& r) {
         Bytes longer = read_request_fpdu(1, 4, 1, r.read_stag, 0);
         longer[1] = std::byte{0x32};
         return longer;
       }},
      {"more reads than agreed", kTooManyReads, 48,
       [](ReceiverRig& r) {
         return joined({read_request_fpdu(1, 4, 1, r.read_stag, 0),
                        read_request_fpdu(2, 4, 1, r.read_stag, 0),
                        read_request_fpdu(3, 4, 1, r.read_stag, 0)});
       }},
      {"read response without a request", kTaggedBadStag, 16,
       [](ReceiverRig& r) {
         r.reads.on_wire = 0;
         return tagged_fpdu(0xC1, 0x42, ReceiverRig::kSink, 0, counted(300));
       }},
      {"read response for another sink", kTaggedBadStag, 16,
       [](auto&) { return tagged_fpdu(0xC1, 0x42, ReceiverRig::kSink + 1, 0, counted(300)); }},
      {"second read response", kTaggedBadStag, 16,
       [](auto&) {
         const Bytes answer = tagged_fpdu(0xC1, 0x42, ReceiverRig::kSink, 0, counted(300));
         return joined({answer, answer});
       }},
      {"read response with a gap", kTaggedBounds, 16,
       [](auto&) { return tagged_fpdu(0x81, 0x42, ReceiverRig::kSink, 1, counted(10)); }},
      {"read response going back", kTaggedBounds, 16,
       [](auto&) {
         return joined({tagged_fpdu(0x81, 0x42, ReceiverRig::kSink, 0, counted(10)),
                        tagged_fpdu(0x81, 0x42, ReceiverRig::kSink, 0, counted(10))});
       }},
      {"read response too long", kTaggedBounds, 16,
       [](auto&) { return tagged_fpdu(0xC1, 0x42, ReceiverRig::kSink, 0, counted(301)); }},
      {"read response too long in a middle segment", kTaggedBounds, 16,
       [](auto&) {
         return joined({tagged_fpdu(0x81, 0x42, ReceiverRig::kSink, 0, counted(200)),
                        tagged_fpdu(0x81, 0x42, ReceiverRig::kSink, 200, counted(200)),
                        tagged_fpdu(0xC1, 0x42, ReceiverRig::kSink, 100, counted(200))});
       }},
      {"read response ends early", kTaggedBounds, 16,
       [](auto&) { return tagged_fpdu(0xC1, 0x42, ReceiverRig::kSink, 0, counted(299)); }},
      {"read response does not end", kTaggedBounds, 16,
       [](auto&) { return tagged_fpdu(0x81, 0x42, ReceiverRig::kSink, 0, counted(300)); }},
      {"terminate on the wrong queue", kBadQueue, 20,
       [](auto&) { return untagged_fpdu(untagged(0x41, 0x47, 0, 1), counted(4)); }},
      {"terminate in pieces", kBadMessageOffset, 20,
       [](auto&) { return untagged_fpdu(untagged(0x01, 0x47, 2, 1), counted(4)); }},
  };
  return table;
}

}  // namespace receiver_test

BOOST_AUTO_TEST_SUITE(receiver_test)

BOOST_AUTO_TEST_CASE(every_single_split_gives_the_same_result) {
  for (const bool crc : {false, true}) {
    for (const std::size_t size : kSizes) {
      ReceiverRig whole(crc, size + 1, 300);
      const Bytes stream = valid_stream(whole, size);
      BOOST_REQUIRE(whole.receiver.consume(stream));
      BOOST_TEST(whole.receiver.at_fpdu_boundary());
      BOOST_TEST(std::count(whole.told.begin(), whole.told.end(), '\n') == 5);
      const std::string expected = whole.outcome();
      const std::size_t step = stream.size() > 10000 ? 1021 : 1;
      for (std::size_t at = 1; at < stream.size(); at += step) {
        ReceiverRig split(crc, size + 1, 300);
        feed(split.receiver, std::span(stream).first(at), false);
        feed(split.receiver, std::span(stream).subspan(at), at % 2 == 0);
        BOOST_REQUIRE(split.outcome() == expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(one_byte_at_a_time_gives_the_same_result) {
  for (const bool crc : {false, true}) {
    for (const bool direct : {false, true}) {
      for (const std::size_t size : kSizes) {
        ReceiverRig whole(crc, size + 1, 140000);
        const Bytes stream = valid_stream(whole, size);
        BOOST_REQUIRE(whole.receiver.consume(stream));
        ReceiverRig bytewise(crc, size + 1, 140000);
        for (std::size_t i = 0; i < stream.size(); ++i)
          feed(bytewise.receiver, std::span(stream).subspan(i, 1), direct);
        BOOST_REQUIRE(bytewise.outcome() == whole.outcome());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_reported_before_the_last_byte) {
  ReceiverRig rig(false);
  const Bytes message = send_fpdu(1, counted(50));
  BOOST_TEST(rig.receiver.consume(std::span(message).first(message.size() - 1)));
  BOOST_TEST(rig.told.empty());
  BOOST_TEST(!rig.receiver.fpdu_seen());
  BOOST_TEST(!rig.receiver.at_fpdu_boundary());
  BOOST_TEST(rig.receiver.consume(std::span(message).last(1)));
  BOOST_TEST(rig.told == "message 3 50\n");
  BOOST_TEST(rig.receiver.fpdu_seen());
}

BOOST_AUTO_TEST_CASE(the_receive_posted_last_is_used_first) {
  ReceiverRig rig(false);
  // One message at a time, its receive posted again: only one of the four rooms is ever touched.
  for (std::uint32_t number = 1; number <= 100; ++number) {
    BOOST_REQUIRE(rig.receiver.consume(send_fpdu(number, counted(100))));
    BOOST_TEST(rig.told == "message 3 100\n");
    BOOST_TEST(rig.receiver.receives_posted() == 3U);
    rig.told.clear();
    rig.receiver.post_receive({rig.rooms[3], 3});
  }
  for (std::size_t room = 0; room < 3; ++room) BOOST_TEST((rig.rooms[room] == Bytes(100)));
  BOOST_TEST((rig.rooms[3] == counted(100)));
  // Four at once use each room, and none twice.
  for (std::uint32_t number = 101; number <= 104; ++number) {
    BOOST_REQUIRE(rig.receiver.consume(send_fpdu(number, counted(number - 100))));
  }
  BOOST_TEST(rig.told == "message 3 1\nmessage 2 2\nmessage 1 3\nmessage 0 4\n");
  BOOST_TEST(!rig.receiver.consume(send_fpdu(105, counted(1))));
  BOOST_TEST((rig.receiver.fault().code == kNoReceive));
}

BOOST_AUTO_TEST_CASE(a_message_that_is_taken_from_the_bytes_touches_no_receive) {
  struct Taking : ReceiverRig {
    explicit Taking(bool crc) : ReceiverRig(crc) {}
    bool takes_message(std::span<const std::byte> message) override {
      shown.emplace_back(message.begin(), message.end());
      return true;
    }
    std::vector<Bytes> shown;
  };
  for (const bool crc : {false, true}) {
    for (const std::size_t size : {1, 4, 50, 100}) {
      Taking rig(crc);
      const Bytes stream = joined({send_fpdu(1, counted(size)), send_fpdu(2, counted(size))});
      BOOST_REQUIRE(rig.receiver.consume(stream));
      BOOST_TEST((rig.shown == std::vector<Bytes>(2, counted(size))));
      BOOST_TEST((rig.rooms == std::vector<Bytes>(4, Bytes(100))));
      // Expect: one that comes in parts is put together in a receive, which is not used up either.
      const Bytes third = send_fpdu(3, counted(size));
      for (const std::byte byte : third) BOOST_REQUIRE(rig.receiver.consume({&byte, 1}));
      BOOST_TEST((rig.shown == std::vector<Bytes>(3, counted(size))));
      BOOST_TEST(rig.receiver.receives_posted() == 4U);
      BOOST_TEST(rig.told.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_receive_posted_amid_a_message_waits_for_the_next_one) {
  ReceiverRig rig(false);
  Bytes late(100);
  BOOST_REQUIRE(rig.receiver.consume(untagged_fpdu(untagged(0x01, 0x43, 0, 1), counted(8))));
  BOOST_TEST(rig.receiver.receives_posted() == 4U);
  rig.receiver.post_receive({late, 9});
  BOOST_REQUIRE(rig.receiver.consume(untagged_fpdu(untagged(0x41, 0x43, 0, 1, 8), counted(4))));
  BOOST_REQUIRE(rig.receiver.consume(send_fpdu(2, counted(5))));
  BOOST_TEST(rig.told == "message 3 12\nmessage 9 5\n");
}

// Also a first segment without a byte.
BOOST_AUTO_TEST_CASE(receives_are_given_back_with_the_one_in_use) {
  for (const std::size_t bytes : {0, 8}) {
    ReceiverRig rig(false);
    BOOST_REQUIRE(rig.receiver.consume(untagged_fpdu(untagged(0x01, 0x43, 0, 1), counted(bytes))));
    std::vector<std::uint64_t> tokens;
    rig.receiver.take_receives([&](const PostedReceive& receive) { tokens.push_back(receive.token); });
    BOOST_TEST(tokens == (std::vector<std::uint64_t>{0, 1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(rig.receiver.receives_posted() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(each_fault_has_its_terminate_and_stops_the_stream) {
  for (const Wrong& wrong : wrongs()) {
    BOOST_TEST_CONTEXT(wrong.name) {
      for (const bool crc : {false, true}) {
        ReceiverRig rig(crc);
        const Bytes stream = wrong.stream(rig);
        const bool ok = rig.receiver.consume(stream);
        BOOST_TEST(!ok);
        BOOST_TEST((rig.receiver.state() == ReceiverState::kFaulted));
        BOOST_TEST((rig.receiver.fault().code == wrong.code));
        BOOST_TEST(rig.receiver.fault().header_bytes == wrong.quoted);
        // Expect: what follows is ignored.
        const std::string before = rig.outcome();
        BOOST_TEST(!rig.receiver.consume(send_fpdu(1, {})));
        BOOST_TEST(rig.outcome() == before);
        // Expect: the same when the bytes trickle in.
        ReceiverRig slow(crc);
        for (const std::byte byte : wrong.stream(slow)) slow.receiver.consume({&byte, 1});
        BOOST_TEST((slow.receiver.fault().code == wrong.code));
        BOOST_TEST(slow.outcome() == before);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(bad_crc_reports_nothing) {
  for (std::size_t at = 4; at < 40; ++at) {
    ReceiverRig rig(true);
    Bytes frame = send_fpdu(1, counted(13));
    if (at >= frame.size()) break;
    frame[at] ^= std::byte{0x10};
    BOOST_TEST(!rig.receiver.consume(frame));
    BOOST_TEST(rig.told.empty());
    // Expect: a header that is wrong in itself may be found out before its CRC.
    if (at >= kUntaggedHeaderBytes) BOOST_TEST((rig.receiver.fault().code == kBadCrc));
  }
  ReceiverRig off(false);
  Bytes frame = send_fpdu(1, counted(13));
  frame.back() ^= std::byte{1};
  BOOST_TEST(off.receiver.consume(frame));
}

BOOST_AUTO_TEST_CASE(terminate_of_the_peer_ends_the_stream_without_a_fault) {
  ReceiverRig rig(true);
  BOOST_TEST(!rig.receiver.consume(
      untagged_fpdu(untagged(0x41, 0x47, 2, 1), from_hex("10000700 0102030405060708"))));
  BOOST_TEST((rig.receiver.state() == ReceiverState::kTerminated));
  BOOST_TEST(to_hex(rig.receiver.terminate_word()) == "10000700");
}

BOOST_AUTO_TEST_CASE(random_bytes_never_crash) {
  const bool held = exs::test::holds("any bytes, any split", [] {
    const std::vector<std::uint8_t> noise = exs::test::draw_bytes();
    const bool crc = exs::test::draw_bool();
    ReceiverRig rig(crc);
    Bytes stream(noise.size());
    std::transform(noise.begin(), noise.end(), stream.begin(), [](std::uint8_t b) { return std::byte{b}; });
    // Half of the time noise starts like something that gets past the first checks.
    if (exs::test::draw_bool()) {
      static const char* const kStarts[] = {"0100c140", "01004143", "002e4141", "01008142", "00164147"};
      Bytes start = from_hex(kStarts[exs::test::draw(0, 5)]);
      stream.insert(stream.begin(), start.begin(), start.end());
    }
    while (!stream.empty()) {
      const auto piece = static_cast<std::size_t>(exs::test::draw(1, 40));
      const std::size_t taken = std::min(piece, stream.size());
      feed(rig.receiver, std::span(stream).first(taken), exs::test::draw_bool());
      stream.erase(stream.begin(), stream.begin() + static_cast<long>(taken));
    }
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(one_flipped_bit_never_crashes_and_never_escapes_the_windows) {
  const bool held = exs::test::holds("flip", [] {
    const bool crc = exs::test::draw_bool();
    ReceiverRig rig(crc);
    Bytes stream = valid_stream(rig, 60);
    const auto at = exs::test::draw<std::size_t>(0, stream.size());
    stream[at] ^= static_cast<std::byte>(1 << exs::test::draw(0, 8));
    rig.receiver.consume(stream);
    EXS_HOLD(rig.readable == Bytes(1000, std::byte{0x5A}));
    const bool unnoticed = rig.receiver.state() == ReceiverState::kOpen && rig.receiver.at_fpdu_boundary();
    if (crc) EXS_HOLD(!unnoticed);
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(random_splits_give_the_same_result) {
  const bool held = exs::test::holds("splits", [] {
    const bool crc = exs::test::draw_bool();
    const auto size = exs::test::draw<std::size_t>(0, 3000);
    ReceiverRig whole(crc, size + 1, 300);
    const Bytes stream = valid_stream(whole, size);
    EXS_HOLD(whole.receiver.consume(stream));
    ReceiverRig split(crc, size + 1, 300);
    std::span<const std::byte> rest = stream;
    while (!rest.empty()) {
      const std::size_t piece = std::min(exs::test::draw<std::size_t>(1, 1000), rest.size());
      feed(split.receiver, rest.first(piece), exs::test::draw_bool());
      rest = rest.subspan(piece);
    }
    EXS_HOLD(split.outcome() == whole.outcome());
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_SUITE_END()
