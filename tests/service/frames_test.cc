// The frames between two nodes: FORMAT.md byte by byte, whatever lies in them, and what is no frame.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/wire/frames.h"
#include "tests/service/frame_layout.h"
#include "tests/support/property.h"

namespace exs::svc {
namespace frames_test {

using namespace exs::svc::test;

constexpr FrameType kAllTypes[] = {
    FrameType::kHello,  FrameType::kFlow,     FrameType::kFlowOk, FrameType::kFlowNo, FrameType::kData,
    FrameType::kAck,    FrameType::kNack,     FrameType::kPing,   FrameType::kPong,   FrameType::kFlowEnd,
    FrameType::kCancel, FrameType::kWantBulk, FrameType::kInfo,   FrameType::kStats};
// Decoded as a node does, by the type that its header says.
bool is_frame(Bytes frame) {
  const std::optional<Header> header = decode_header(frame);
  if (!header) return false;
  switch (header->type) {
    case FrameType::kHello: return decode_hello(frame).has_value();
    case FrameType::kFlow: return decode_flow(frame, *header).has_value();
    case FrameType::kFlowOk: return decode_flow_ok(frame, *header).has_value();
    case FrameType::kFlowNo: return decode_flow_no(frame).has_value();
    case FrameType::kNack: return decode_nack(frame).has_value();
    case FrameType::kStats: return decode_stats(frame).has_value();
    case FrameType::kData: return decode_data(frame, *header).has_value();
    case FrameType::kAck:
    case FrameType::kPing:
    case FrameType::kPong:
    case FrameType::kFlowEnd:
    case FrameType::kCancel:
    case FrameType::kInfo:
    case FrameType::kWantBulk: return is_bare(frame);
  }
  return false;
}

// ---------------------------------------------------------------- samples

Hello sample_hello() {
  Hello hello;
  fill_from(hello.nonce, counting(0x20, 32));
  return hello;
}

Flow sample_flow(bool has_sender, bool has_capability) {
  Flow flow;
  fill_from(flow.target, counting(0xa0, 16));
  flow.client = 0x2122232425262728;
  flow.flow_number = 0x3132333435363738;
  flow.instance = 0xc1c2c3c4c5c6c7c8;
  if (has_sender) {
    flow.sender.emplace();
    fill_from(flow.sender->key, counting(0x40, 32));
    fill_from(flow.sender->signature, counting(0x60, 64));
  }
  if (has_capability) {
    flow.capability.emplace();
    flow.capability->rights = 0x41424344;
    flow.capability->serial = 0x51525354;
    flow.capability->expires_ms = 0x6162636465666768;
    fill_from(flow.capability->proof, counting(0xb0, 32));
  }
  return flow;
}

FlowOk sample_flow_ok() {
  FlowOk ok;
  fill_from(ok.key, counting(0x40, 32));
  ok.instance = 0x2122232425262728;
  fill_from(ok.signature, counting(0x60, 64));
  return ok;
}

FrameBytes bare(FrameType type) {
  return made_by([&](auto room) {
    return encode_bare(room, {.type = type, .flow = kAlias, .number = kNumber, .ack = 0x2122232425262728});
  });
}

FrameBytes flow_no_of(Refusal why) {
  return made_by([&](auto room) { return encode_flow_no(room, kAlias, kNumber, why); });
}
FrameBytes nack_of(Refusal why) {
  return made_by([&](auto room) { return encode_nack(room, kAlias, kNumber, why); });
}

FrameBytes flow_of(bool has_sender, bool has_capability) {
  return made_by(
      [&](auto room) { return encode_flow(room, kAlias, sample_flow(has_sender, has_capability), kNumber); });
}

// All types, and the forms that they have.
std::vector<FrameBytes> all_frames() {
  return {made_by([](auto room) { return encode_hello(room, sample_hello()); }),
          flow_of(false, false),
          flow_of(true, false),
          flow_of(false, true),
          flow_of(true, true),
          made_by([](auto room) { return encode_flow_ok(room, kAlias, kNumber, sample_flow_ok()); }),
          flow_no_of(Refusal::kTooMany),
          data_of({}),
          data_of({counting(1, 5)}),
          data_of({counting(1, 5), {}, counting(7, 300)}),
          data_of(std::vector<FrameBytes>(kItemsMax, counting(1, kShortMax / kItemsMax))),
          bare(FrameType::kAck),
          nack_of(Refusal::kNoRoom),
          bare(FrameType::kPing),
          bare(FrameType::kPong),
          bare(FrameType::kFlowEnd),
          bare(FrameType::kCancel),
          bare(FrameType::kWantBulk),
          bare(FrameType::kInfo),
          made_by([](auto room) {
            return encode_stats(room, kAlias, kNumber, {1, 2, 3, 4, 5, 6, 7});
          })};
}

std::string name_of_sample(const FrameBytes& frame) {
  return "type " + std::to_string(frame[0]) + " of " + std::to_string(frame.size());
}

const std::vector<LayoutRow> kFlowRows = {
    {24, counting(0xa0, 16)}, {40, counting(0x21, 8)}, {48, counting(0x31, 8)}, {56, counting(0xc1, 8)}};

std::vector<LayoutRow> flow_rows(std::uint8_t flags, const std::vector<LayoutRow>& rest) {
  std::vector<LayoutRow> body = kFlowRows;
  body.insert(body.end(), rest.begin(), rest.end());
  return behind_header(2, flags, kZero2, kAliasBytes, kZero8, kNumberBytes, body);
}

// ---------------------------------------------------------------- drawn values

template <std::size_t kCount>
std::array<std::uint8_t, kCount> draw_array() {
  std::array<std::uint8_t, kCount> bytes;
  for (std::uint8_t& byte : bytes) byte = exs::test::draw<std::uint8_t>();
  return bytes;
}

Flow draw_flow() {
  Flow flow{draw_array<16>(),
            exs::test::draw<std::uint64_t>(),
            exs::test::draw<std::uint64_t>(),
            exs::test::draw<std::uint64_t>(),
            {},
            {}};
  if (exs::test::draw_bool()) flow.sender = Sender{draw_array<32>(), draw_array<64>()};
  if (exs::test::draw_bool())
    flow.capability =
        CapabilityProof{exs::test::draw<std::uint32_t>(), exs::test::draw<std::uint32_t>(),
                        static_cast<std::int64_t>(exs::test::draw<std::uint64_t>()), draw_array<32>()};
  return flow;
}

bool is_same_flow(const Flow& one, const Flow& other) {
  if (one.target != other.target || one.client != other.client || one.flow_number != other.flow_number ||
      one.instance != other.instance || one.sender.has_value() != other.sender.has_value() ||
      one.capability.has_value() != other.capability.has_value())
    return false;
  if (one.sender &&
      (one.sender->key != other.sender->key || one.sender->signature != other.sender->signature))
    return false;
  return !one.capability || (one.capability->rights == other.capability->rights &&
                             one.capability->serial == other.capability->serial &&
                             one.capability->expires_ms == other.capability->expires_ms &&
                             one.capability->proof == other.capability->proof);
}

}  // namespace frames_test

BOOST_AUTO_TEST_SUITE(frames_test, *boost::unit_test::fixture<exs::test::PropertyDefaults>())

// ---------------------------------------------------------------- bytes

BOOST_AUTO_TEST_CASE(a_hello_has_its_bytes_where_the_format_says) {
  expect_layout(made_by([](auto room) { return encode_hello(room, sample_hello()); }),
                behind_header(1, 0, {0, 1}, kZero4, kZero8, kZero8,
                              {{24, {'E', 'X', 'S', 'V'}}, {28, counting(0x20, 32)}}));
  Hello of_lane = sample_hello();
  of_lane.is_of_lane = true;
  of_lane.flow = kAlias;
  expect_layout(made_by([&](auto room) { return encode_hello(room, of_lane); }),
                behind_header(1, 2, {0, 1}, kAliasBytes, kZero8, kZero8,
                              {{24, {'E', 'X', 'S', 'V'}}, {28, counting(0x20, 32)}}));
}

BOOST_AUTO_TEST_CASE(a_flow_has_its_bytes_where_the_format_says) {
  const std::vector<LayoutRow> sender = {{64, counting(0x40, 32)}, {96, counting(0x60, 64)}};
  expect_layout(flow_of(false, false), flow_rows(0, {}));
  expect_layout(flow_of(true, false), flow_rows(1, sender));
  expect_layout(flow_of(false, true), flow_rows(2, {{64, counting(0x41, 4)},
                                                    {68, counting(0x51, 4)},
                                                    {72, counting(0x61, 8)},
                                                    {80, counting(0xb0, 32)}}));
  expect_layout(flow_of(true, true), flow_rows(3, {sender[0],
                                                   sender[1],
                                                   {160, counting(0x41, 4)},
                                                   {164, counting(0x51, 4)},
                                                   {168, counting(0x61, 8)},
                                                   {176, counting(0xb0, 32)}}));
}

BOOST_AUTO_TEST_CASE(a_flow_ok_has_its_bytes_where_the_format_says) {
  expect_layout(made_by([](auto room) { return encode_flow_ok(room, kAlias, kNumber, sample_flow_ok()); }),
                behind_header(3, 0, kZero2, kAliasBytes, kZero8, kNumberBytes,
                              {{24, counting(0x40, 32)}, {56, counting(0x21, 8)}, {64, counting(0x60, 64)}}));
}

BOOST_AUTO_TEST_CASE(a_flow_no_and_a_nack_have_their_bytes_where_the_format_says) {
  const auto rows_of_flow_no = [](std::uint8_t why) {
    return behind_header(4, 0, kZero2, kAliasBytes, kZero8, kNumberBytes, {{24, {0, 0, 0, why}}});
  };
  const auto rows_of_nack = [](std::uint8_t why) {
    return behind_header(7, 0, kZero2, kAliasBytes, kNumberBytes, kZero8, {{24, {0, 0, 0, why}}});
  };
  expect_layout(flow_no_of(Refusal::kNobody), rows_of_flow_no(1));
  expect_layout(flow_no_of(Refusal::kNotAllowed), rows_of_flow_no(2));
  expect_layout(flow_no_of(Refusal::kTooMany), rows_of_flow_no(3));
  expect_layout(nack_of(Refusal::kNotAllowed), rows_of_nack(2));
  expect_layout(nack_of(Refusal::kNoRoom), rows_of_nack(4));
}

BOOST_AUTO_TEST_CASE(frames_without_a_body_are_a_header_as_the_format_says) {
  for (const auto& [type, byte] :
       std::initializer_list<std::pair<FrameType, std::uint8_t>>{{FrameType::kAck, 6},
                                                                 {FrameType::kPing, 8},
                                                                 {FrameType::kPong, 9},
                                                                 {FrameType::kFlowEnd, 10},
                                                                 {FrameType::kCancel, 11},
                                                                 {FrameType::kWantBulk, 12},
                                                                 {FrameType::kInfo, 13}})
    expect_layout(bare(type),
                  behind_header(byte, 0, kZero2, kAliasBytes, kNumberBytes, counting(0x21, 8), {}));
}

BOOST_AUTO_TEST_CASE(limits_are_those_of_the_format) {
  BOOST_TEST(kHeaderBytes == 24U);
  BOOST_TEST(kFrameMax == 4352U);
  BOOST_TEST(kItemsMax == 16U);
  BOOST_TEST(kShortMax == 4000U);
  BOOST_TEST(kProtocolVersion == 1U);
  // Expect: the longest of each type.
  BOOST_TEST(made_by([](auto room) { return encode_hello(room, sample_hello()); }).size() == 60U);
  BOOST_TEST(flow_of(true, true).size() == 208U);
  BOOST_TEST(made_by([](auto room) {
               return encode_flow_ok(room, kAlias, kNumber, sample_flow_ok());
             }).size() == 128U);
  BOOST_TEST(nack_of(Refusal::kNobody).size() == 28U);
  BOOST_TEST(data_of(std::vector<FrameBytes>(kItemsMax, counting(0, 250))).size() == 24U + 32U + 4000U);
}

// ---------------------------------------------------------------- round trips

BOOST_AUTO_TEST_CASE(a_header_comes_back_as_it_was) {
  BOOST_TEST(exs::test::holds("a header's round trip", [] {
    const Header sent{kAllTypes[exs::test::draw_index(std::size(kAllTypes))],
                      exs::test::draw<std::uint8_t>(),
                      exs::test::draw<std::uint16_t>(),
                      exs::test::draw<std::uint32_t>(),
                      exs::test::draw<std::uint64_t>(),
                      exs::test::draw<std::uint64_t>()};
    const FrameBytes frame = made_by([&](auto room) { return encode_bare(room, sent); });
    EXS_HOLD(is_bare(frame));
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value());
    EXS_HOLD(header->type == sent.type && header->flags == sent.flags && header->count == sent.count);
    EXS_HOLD(header->flow == sent.flow && header->number == sent.number && header->ack == sent.ack);
  }));
}

BOOST_AUTO_TEST_CASE(a_hello_of_any_version_comes_back_as_it_was) {
  BOOST_TEST(exs::test::holds("a hello's round trip", [] {
    Hello sent{exs::test::draw<std::uint16_t>(), draw_array<32>(), exs::test::draw_bool()};
    sent.is_of_lane = !sent.is_of_bulk && exs::test::draw_bool();
    if (sent.is_of_lane) sent.flow = exs::test::draw<std::uint32_t>();
    const std::optional<Hello> hello =
        decode_hello(made_by([&](auto room) { return encode_hello(room, sent); }));
    EXS_HOLD(hello.has_value());
    EXS_HOLD(*hello == sent);
  }));
}

BOOST_AUTO_TEST_CASE(a_flow_comes_back_as_it_was) {
  BOOST_TEST(exs::test::holds("a flow's round trip", [] {
    const Flow sent = draw_flow();
    const auto alias = exs::test::draw<std::uint32_t>();
    const FrameBytes frame = made_by([&](auto room) { return encode_flow(room, alias, sent, 7); });
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value() && header->type == FrameType::kFlow);
    EXS_HOLD(header->flow == alias && header->ack == 7);
    const std::optional<Flow> flow = decode_flow(frame, *header);
    EXS_HOLD(flow.has_value() && is_same_flow(*flow, sent));
  }));
}

BOOST_AUTO_TEST_CASE(a_flow_ok_comes_back_as_it_was) {
  BOOST_TEST(exs::test::holds("a flow ok's round trip", [] {
    const FlowOk sent{draw_array<32>(), exs::test::draw<std::uint64_t>(), draw_array<64>(),
                      exs::test::draw_bool()};
    const auto alias = exs::test::draw<std::uint32_t>();
    const auto accepted = exs::test::draw<std::uint64_t>();
    const FrameBytes frame = made_by([&](auto room) { return encode_flow_ok(room, alias, accepted, sent); });
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value() && header->type == FrameType::kFlowOk);
    EXS_HOLD(header->flow == alias && header->ack == accepted);
    const std::optional<FlowOk> ok = decode_flow_ok(frame, *header);
    EXS_HOLD(ok.has_value());
    EXS_HOLD(ok->key == sent.key && ok->instance == sent.instance && ok->signature == sent.signature);
    EXS_HOLD(ok->is_known == sent.is_known);
  }));
}

BOOST_AUTO_TEST_CASE(a_refusal_comes_back_as_it_was) {
  BOOST_TEST(exs::test::holds("a refusal's round trip", [] {
    const bool is_nack = exs::test::draw_bool();
    const auto why = static_cast<Refusal>(1 + exs::test::draw_index(4));
    const auto alias = exs::test::draw<std::uint32_t>();
    const auto number = exs::test::draw<std::uint64_t>();
    const FrameBytes frame = made_by([&](auto room) {
      return is_nack ? encode_nack(room, alias, number, why) : encode_flow_no(room, alias, number, why);
    });
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value() && header->flow == alias);
    EXS_HOLD(header->type == (is_nack ? FrameType::kNack : FrameType::kFlowNo));
    EXS_HOLD((is_nack ? header->number : header->ack) == number);
    EXS_HOLD((is_nack ? header->ack : header->number) == 0);
    const std::optional<FlowRefusal> refusal = decode_flow_no(frame);
    EXS_HOLD(refusal.has_value() && refusal->why == why && refusal->record.empty());
    EXS_HOLD(decode_nack(frame) == why);
  }));
}

BOOST_AUTO_TEST_CASE(where_a_service_has_moved_comes_back_as_it_was) {
  BOOST_TEST(exs::test::holds("a moved flow's round trip", [] {
    const auto alias = exs::test::draw<std::uint32_t>();
    const auto number = exs::test::draw<std::uint64_t>();
    const FrameBytes record(exs::test::draw_index(200), 0x5a);
    const FrameBytes frame =
        made_by([&](auto room) { return encode_flow_moved(room, alias, number, record); });
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value() && header->type == FrameType::kFlowNo);
    EXS_HOLD(header->flow == alias && header->ack == number && header->number == 0);
    const std::optional<FlowRefusal> refusal = decode_flow_no(frame);
    EXS_HOLD(refusal.has_value() && refusal->why == Refusal::kMoved);
    EXS_HOLD(std::equal(record.begin(), record.end(), refusal->record.begin(), refusal->record.end()));
    // Expect: no message is refused for it.
    EXS_HOLD(!decode_nack(frame).has_value());
  }));
}

// ---------------------------------------------------------------- what is no frame

BOOST_AUTO_TEST_CASE(a_frame_cut_anywhere_is_none) {
  for (const FrameBytes& whole : all_frames()) {
    BOOST_TEST(is_frame(whole), name_of_sample(whole));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const AloneFrame cut(Bytes(whole).first(length));
      BOOST_TEST(!is_frame(cut.bytes()), name_of_sample(whole) << " cut to " << length);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_frame_with_a_byte_behind_it_is_none) {
  for (const FrameBytes& whole : all_frames()) {
    for (const std::uint8_t byte : std::initializer_list<std::uint8_t>{0, 1, 255}) {
      FrameBytes longer = whole;
      longer.push_back(byte);
      BOOST_TEST(!is_frame(AloneFrame(longer).bytes()), name_of_sample(whole));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_type_that_is_unknown_is_no_header) {
  for (unsigned type = 0; type < 256; ++type) {
    FrameBytes frame = bare(FrameType::kPing);
    frame[0] = static_cast<std::uint8_t>(type);
    BOOST_TEST(decode_header(frame).has_value() == (type >= 1 && type <= 14), type);
  }
}

BOOST_AUTO_TEST_CASE(a_hello_of_another_magic_is_none) {
  const FrameBytes hello = made_by([](auto room) { return encode_hello(room, sample_hello()); });
  for (std::size_t bit = 0; bit < 32; ++bit) {
    FrameBytes other = hello;
    other[24 + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    BOOST_TEST(!decode_hello(other).has_value(), "bit " << bit);
  }
}

BOOST_AUTO_TEST_CASE(a_flow_is_as_long_as_its_flags_say_and_other_flags_say_nothing) {
  for (const bool has_sender : {false, true}) {
    for (const bool has_capability : {false, true}) {
      FrameBytes frame = flow_of(has_sender, has_capability);
      const std::uint8_t own = frame[1];
      for (unsigned flags = 0; flags < 256; ++flags) {
        frame[1] = static_cast<std::uint8_t>(flags);
        const std::optional<Flow> flow = decode_flow(frame, *decode_header(frame));
        BOOST_TEST(flow.has_value() == ((flags & 3U) == own), "flags " << flags);
        if (flow) BOOST_TEST(is_same_flow(*flow, sample_flow(has_sender, has_capability)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_refusal_for_no_reason_is_none) {
  for (const std::uint32_t why : {0U, 6U, 0x100U, 0x01000001U, UINT32_MAX}) {
    BOOST_TEST(!decode_flow_no(flow_no_of(static_cast<Refusal>(why))).has_value(), why);
    BOOST_TEST(!decode_nack(nack_of(static_cast<Refusal>(why))).has_value(), why);
  }
}

BOOST_AUTO_TEST_CASE(a_frame_without_room_for_all_of_it_is_nothing) {
  const std::vector<FrameBytes> items(kItemsMax);
  const Data data = data_with(items);
  const std::array<std::function<Encoded(std::span<std::uint8_t>)>, 7> encoders = {
      [](auto to) { return encode_bare(to, {.type = FrameType::kPing}); },
      [](auto to) { return encode_hello(to, sample_hello()); },
      [](auto to) { return encode_flow(to, kAlias, sample_flow(true, true)); },
      [](auto to) { return encode_flow_ok(to, kAlias, kNumber, sample_flow_ok()); },
      [](auto to) { return encode_flow_no(to, kAlias, kNumber, Refusal::kNobody); },
      [](auto to) { return encode_nack(to, kAlias, kNumber, Refusal::kNobody); },
      [&](auto to) { return encode_data(to, kAlias, kNumber, data); }};
  for (const auto& encode : encoders) {
    const std::size_t needed = made_by(encode).size();
    for (std::size_t room_bytes = 0; room_bytes <= needed; ++room_bytes) {
      const std::unique_ptr<std::uint8_t[]> room(new std::uint8_t[room_bytes]);
      BOOST_TEST(encode({room.get(), room_bytes}).size() == (room_bytes == needed ? needed : 0), room_bytes);
    }
  }
}

BOOST_AUTO_TEST_CASE(bytes_of_anybody_are_no_frame_or_one_that_ends_where_they_end) {
  const std::vector<FrameBytes> frames = all_frames();
  BOOST_TEST(exs::test::holds("hostile frames", [&] {
    FrameBytes bytes = frames[exs::test::draw_index(frames.size())];
    for (std::size_t changes = exs::test::draw_index(4); changes-- > 0;)
      bytes[exs::test::draw_index(std::min<std::size_t>(bytes.size(), 64))] = exs::test::draw<std::uint8_t>();
    if (exs::test::draw_bool()) bytes.resize(exs::test::draw<std::size_t>(0, bytes.size() + 9));
    const AloneFrame alone(bytes);
    const Bytes frame = alone.bytes();
    const std::optional<Header> header = decode_header(frame);
    if (!header) return;
    // Whatever its type says, for each decoder has to stand any bytes.
    decode_hello(frame);
    decode_flow(frame, *header);
    decode_flow_ok(frame, *header);
    decode_flow_no(frame);
    decode_nack(frame);
    decode_data(frame, *header);
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
