// The frames between two nodes: FORMAT.md byte by byte, whatever lies in them, and what is no frame.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/wire/frames.h"
#include "tests/support/property.h"

namespace exs::svc {
namespace {

using FrameBytes = std::vector<std::uint8_t>;

constexpr FrameType kAllTypes[] = {
    FrameType::kHello, FrameType::kFlow, FrameType::kFlowOk, FrameType::kFlowNo, FrameType::kData,
    FrameType::kAck,   FrameType::kNack, FrameType::kPing,   FrameType::kPong,   FrameType::kFlowEnd};
constexpr std::uint32_t kAlias = 0x01020304;
constexpr std::uint64_t kNumber = 0x1112131415161718;

// Bytes that count up, so that none stands for another.
FrameBytes counting(std::uint8_t first, std::size_t count) {
  FrameBytes bytes(count);
  for (std::uint8_t& byte : bytes) byte = first++;
  return bytes;
}
template <std::size_t kCount>
void fill_from(std::array<std::uint8_t, kCount>& to, const FrameBytes& bytes) {
  std::copy_n(bytes.begin(), kCount, to.begin());
}

// A frame where nothing lies before or behind it, so that a sanitizer sees who looks there.
class AloneFrame {
 public:
  explicit AloneFrame(Bytes bytes) : start_(new std::uint8_t[bytes.size()]), bytes_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), start_.get());
  }
  [[nodiscard]] Bytes bytes() const { return {start_.get(), bytes_}; }

 private:
  std::unique_ptr<std::uint8_t[]> start_;
  std::size_t bytes_;
};

// Decoded as a node does, by the type that its header says.
bool is_frame(Bytes frame) {
  const std::optional<Header> header = decode_header(frame);
  if (!header) return false;
  switch (header->type) {
    case FrameType::kHello: return decode_hello(frame).has_value();
    case FrameType::kFlow: return decode_flow(frame, *header).has_value();
    case FrameType::kFlowOk: return decode_flow_ok(frame).has_value();
    case FrameType::kFlowNo:
    case FrameType::kNack: return decode_refusal(frame).has_value();
    case FrameType::kData: return decode_data(frame, *header).has_value();
    case FrameType::kAck:
    case FrameType::kPing:
    case FrameType::kPong:
    case FrameType::kFlowEnd: return is_bare(frame);
  }
  return false;
}

// What is written by `encode(room)`.
template <typename Encoder>
FrameBytes made_by(Encoder encode) {
  std::array<std::uint8_t, kFrameMax> room;
  room.fill(0xee);
  const Encoded frame = encode(std::span<std::uint8_t>(room));
  return {frame.begin(), frame.end()};
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

FrameBytes data_of(const std::vector<FrameBytes>& items) {
  const std::vector<Bytes> spans(items.begin(), items.end());
  return made_by([&](auto room) { return encode_data(room, kAlias, kNumber, spans); });
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
      [&](auto room) { return encode_flow(room, kAlias, sample_flow(has_sender, has_capability)); });
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
          nack_of(Refusal::kMailboxFull),
          bare(FrameType::kPing),
          bare(FrameType::kPong),
          bare(FrameType::kFlowEnd)};
}

std::string name_of_sample(const FrameBytes& frame) {
  return "type " + std::to_string(frame[0]) + " of " + std::to_string(frame.size());
}

// ---------------------------------------------------------------- tables of FORMAT.md

struct LayoutRow {
  std::size_t offset;
  FrameBytes bytes;
};

// The rows are all of the frame, without a gap.
void expect_layout(const FrameBytes& frame, const std::vector<LayoutRow>& rows) {
  std::size_t next = 0;
  for (const LayoutRow& row : rows) {
    BOOST_TEST(row.offset == next, "offset " << row.offset);
    BOOST_REQUIRE(row.offset + row.bytes.size() <= frame.size());
    const Bytes field = Bytes(frame).subspan(row.offset, row.bytes.size());
    BOOST_TEST(FrameBytes(field.begin(), field.end()) == row.bytes, boost::test_tools::per_element());
    next = row.offset + row.bytes.size();
  }
  BOOST_TEST(next == frame.size());
}

std::vector<LayoutRow> behind_header(std::uint8_t type, std::uint8_t flags, const FrameBytes& count,
                                     const FrameBytes& flow, const FrameBytes& number, const FrameBytes& ack,
                                     const std::vector<LayoutRow>& body) {
  std::vector<LayoutRow> rows = {{0, {type}}, {1, {flags}}, {2, count}, {4, flow}, {8, number}, {16, ack}};
  rows.insert(rows.end(), body.begin(), body.end());
  return rows;
}

const FrameBytes kZero2(2);
const FrameBytes kZero4(4);
const FrameBytes kZero8(8);
const FrameBytes kAliasBytes = {1, 2, 3, 4};
const FrameBytes kNumberBytes = counting(0x11, 8);

const std::vector<LayoutRow> kFlowRows = {
    {24, counting(0xa0, 16)}, {40, counting(0x21, 8)}, {48, counting(0x31, 8)}};

std::vector<LayoutRow> flow_rows(std::uint8_t flags, const std::vector<LayoutRow>& rest) {
  std::vector<LayoutRow> body = kFlowRows;
  body.insert(body.end(), rest.begin(), rest.end());
  return behind_header(2, flags, kZero2, kAliasBytes, kZero8, kZero8, body);
}

// ---------------------------------------------------------------- drawn values

template <std::size_t kCount>
std::array<std::uint8_t, kCount> draw_array() {
  std::array<std::uint8_t, kCount> bytes;
  for (std::uint8_t& byte : bytes) byte = test::draw<std::uint8_t>();
  return bytes;
}

Flow draw_flow() {
  Flow flow{draw_array<16>(), test::draw<std::uint64_t>(), test::draw<std::uint64_t>(), {}, {}};
  if (test::draw_bool()) flow.sender = Sender{draw_array<32>(), draw_array<64>()};
  if (test::draw_bool())
    flow.capability =
        CapabilityProof{test::draw<std::uint32_t>(), test::draw<std::uint32_t>(),
                        static_cast<std::int64_t>(test::draw<std::uint64_t>()), draw_array<32>()};
  return flow;
}

bool is_same_flow(const Flow& one, const Flow& other) {
  if (one.target != other.target || one.client != other.client || one.flow_number != other.flow_number ||
      one.sender.has_value() != other.sender.has_value() ||
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

std::vector<FrameBytes> draw_items() {
  std::vector<FrameBytes> items(test::draw_index(kItemsMax + 1));
  std::size_t left = kShortMax;
  for (FrameBytes& item : items) {
    item = counting(test::draw<std::uint8_t>(), test::draw<std::size_t>(0, left + 1));
    left -= item.size();
  }
  return items;
}

bool are_items(const Items& items, const std::vector<FrameBytes>& sent) {
  if (items.count != sent.size()) return false;
  for (std::size_t i = 0; i < sent.size(); ++i)
    if (!std::equal(items.item[i].begin(), items.item[i].end(), sent[i].begin(), sent[i].end())) return false;
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frames_test, *boost::unit_test::fixture<test::PropertyDefaults>())

// ---------------------------------------------------------------- bytes

BOOST_AUTO_TEST_CASE(a_hello_has_its_bytes_where_the_format_says) {
  expect_layout(made_by([](auto room) { return encode_hello(room, sample_hello()); }),
                behind_header(1, 0, {0, 1}, kZero4, kZero8, kZero8,
                              {{24, {'E', 'X', 'S', 'V'}}, {28, counting(0x20, 32)}}));
}

BOOST_AUTO_TEST_CASE(a_flow_has_its_bytes_where_the_format_says) {
  const std::vector<LayoutRow> sender = {{56, counting(0x40, 32)}, {88, counting(0x60, 64)}};
  expect_layout(flow_of(false, false), flow_rows(0, {}));
  expect_layout(flow_of(true, false), flow_rows(1, sender));
  expect_layout(flow_of(false, true), flow_rows(2, {{56, counting(0x41, 4)},
                                                    {60, counting(0x51, 4)},
                                                    {64, counting(0x61, 8)},
                                                    {72, counting(0xb0, 32)}}));
  expect_layout(flow_of(true, true), flow_rows(3, {sender[0],
                                                   sender[1],
                                                   {152, counting(0x41, 4)},
                                                   {156, counting(0x51, 4)},
                                                   {160, counting(0x61, 8)},
                                                   {168, counting(0xb0, 32)}}));
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
  expect_layout(nack_of(Refusal::kMailboxFull), rows_of_nack(4));
}

BOOST_AUTO_TEST_CASE(data_have_their_bytes_where_the_format_says) {
  const auto rows = [](std::uint8_t count, const std::vector<LayoutRow>& body) {
    return behind_header(5, 0, {0, count}, kAliasBytes, kNumberBytes, kZero8, body);
  };
  expect_layout(data_of({}), rows(0, {}));
  expect_layout(data_of({{}}), rows(1, {{24, {0, 0}}}));
  expect_layout(
      data_of({{0x71, 0x72}, {}, counting(0x80, 0x0103)}),
      rows(3, {{24, {0, 2}}, {26, {0, 0}}, {28, {1, 3}}, {30, {0x71, 0x72}}, {32, counting(0x80, 0x0103)}}));
}

BOOST_AUTO_TEST_CASE(frames_without_a_body_are_a_header_as_the_format_says) {
  for (const auto& [type, byte] : std::initializer_list<std::pair<FrameType, std::uint8_t>>{
           {FrameType::kAck, 6}, {FrameType::kPing, 8}, {FrameType::kPong, 9}, {FrameType::kFlowEnd, 10}})
    expect_layout(bare(type),
                  behind_header(byte, 0, kZero2, kAliasBytes, kNumberBytes, counting(0x21, 8), {}));
}

BOOST_AUTO_TEST_CASE(limits_are_those_of_the_format) {
  BOOST_TEST(kHeaderBytes == 24U);
  BOOST_TEST(kFrameMax == 4096U);
  BOOST_TEST(kItemsMax == 16U);
  BOOST_TEST(kShortMax == 4000U);
  BOOST_TEST(kProtocolVersion == 1U);
  // Expect: the longest of each type.
  BOOST_TEST(made_by([](auto room) { return encode_hello(room, sample_hello()); }).size() == 60U);
  BOOST_TEST(flow_of(true, true).size() == 200U);
  BOOST_TEST(made_by([](auto room) {
               return encode_flow_ok(room, kAlias, kNumber, sample_flow_ok());
             }).size() == 128U);
  BOOST_TEST(nack_of(Refusal::kNobody).size() == 28U);
  BOOST_TEST(data_of(std::vector<FrameBytes>(kItemsMax, counting(0, 250))).size() == 24U + 32U + 4000U);
}

// ---------------------------------------------------------------- round trips

BOOST_AUTO_TEST_CASE(a_header_comes_back_as_it_was) {
  BOOST_TEST(test::holds("a header's round trip", [] {
    const Header sent{kAllTypes[test::draw_index(std::size(kAllTypes))],
                      test::draw<std::uint8_t>(),
                      test::draw<std::uint16_t>(),
                      test::draw<std::uint32_t>(),
                      test::draw<std::uint64_t>(),
                      test::draw<std::uint64_t>()};
    const FrameBytes frame = made_by([&](auto room) { return encode_bare(room, sent); });
    EXS_HOLD(is_bare(frame));
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value());
    EXS_HOLD(header->type == sent.type && header->flags == sent.flags && header->count == sent.count);
    EXS_HOLD(header->flow == sent.flow && header->number == sent.number && header->ack == sent.ack);
  }));
}

BOOST_AUTO_TEST_CASE(a_hello_of_any_version_comes_back_as_it_was) {
  BOOST_TEST(test::holds("a hello's round trip", [] {
    const Hello sent{test::draw<std::uint16_t>(), draw_array<32>()};
    const std::optional<Hello> hello =
        decode_hello(made_by([&](auto room) { return encode_hello(room, sent); }));
    EXS_HOLD(hello.has_value());
    EXS_HOLD(hello->version == sent.version && hello->nonce == sent.nonce);
  }));
}

BOOST_AUTO_TEST_CASE(a_flow_comes_back_as_it_was) {
  BOOST_TEST(test::holds("a flow's round trip", [] {
    const Flow sent = draw_flow();
    const auto alias = test::draw<std::uint32_t>();
    const FrameBytes frame = made_by([&](auto room) { return encode_flow(room, alias, sent); });
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value() && header->type == FrameType::kFlow && header->flow == alias);
    const std::optional<Flow> flow = decode_flow(frame, *header);
    EXS_HOLD(flow.has_value() && is_same_flow(*flow, sent));
  }));
}

BOOST_AUTO_TEST_CASE(a_flow_ok_comes_back_as_it_was) {
  BOOST_TEST(test::holds("a flow ok's round trip", [] {
    const FlowOk sent{draw_array<32>(), test::draw<std::uint64_t>(), draw_array<64>()};
    const auto alias = test::draw<std::uint32_t>();
    const auto accepted = test::draw<std::uint64_t>();
    const FrameBytes frame = made_by([&](auto room) { return encode_flow_ok(room, alias, accepted, sent); });
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value() && header->type == FrameType::kFlowOk);
    EXS_HOLD(header->flow == alias && header->ack == accepted);
    const std::optional<FlowOk> ok = decode_flow_ok(frame);
    EXS_HOLD(ok.has_value());
    EXS_HOLD(ok->key == sent.key && ok->instance == sent.instance && ok->signature == sent.signature);
  }));
}

BOOST_AUTO_TEST_CASE(a_refusal_comes_back_as_it_was) {
  BOOST_TEST(test::holds("a refusal's round trip", [] {
    const bool is_nack = test::draw_bool();
    const auto why = static_cast<Refusal>(1 + test::draw_index(4));
    const auto alias = test::draw<std::uint32_t>();
    const auto number = test::draw<std::uint64_t>();
    const FrameBytes frame = made_by([&](auto room) {
      return is_nack ? encode_nack(room, alias, number, why) : encode_flow_no(room, alias, number, why);
    });
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value() && header->flow == alias);
    EXS_HOLD(header->type == (is_nack ? FrameType::kNack : FrameType::kFlowNo));
    EXS_HOLD((is_nack ? header->number : header->ack) == number);
    EXS_HOLD((is_nack ? header->ack : header->number) == 0);
    EXS_HOLD(decode_refusal(frame) == why);
  }));
}

BOOST_AUTO_TEST_CASE(data_come_back_as_they_were) {
  BOOST_TEST(test::holds("the round trip of data", [] {
    const std::vector<FrameBytes> sent = draw_items();
    const std::vector<Bytes> spans(sent.begin(), sent.end());
    const auto alias = test::draw<std::uint32_t>();
    const auto number = test::draw<std::uint64_t>();
    const FrameBytes frame = made_by([&](auto room) { return encode_data(room, alias, number, spans); });
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value() && header->type == FrameType::kData);
    EXS_HOLD(header->flow == alias && header->number == number && header->count == sent.size());
    const std::optional<Items> items = decode_data(frame, *header);
    EXS_HOLD(items.has_value() && are_items(*items, sent));
  }));
}

BOOST_AUTO_TEST_CASE(a_frame_that_is_numbered_again_is_one_with_another_number) {
  BOOST_TEST(test::holds("renumber", [] {
    const std::vector<FrameBytes> sent = draw_items();
    FrameBytes frame = data_of(sent);
    const FrameBytes before = frame;
    const auto alias = test::draw<std::uint32_t>();
    const auto number = test::draw<std::uint64_t>();
    renumber(frame, alias, number);
    const std::vector<Bytes> spans(sent.begin(), sent.end());
    EXS_HOLD(frame == made_by([&](auto room) { return encode_data(room, alias, number, spans); }));
    // Back again, so nothing else has changed.
    renumber(frame, kAlias, kNumber);
    EXS_HOLD(frame == before);
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
    BOOST_TEST(decode_header(frame).has_value() == (type >= 1 && type <= 10), type);
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
  for (const std::uint32_t why : {0U, 5U, 0x100U, 0x01000001U, UINT32_MAX}) {
    BOOST_TEST(!decode_refusal(flow_no_of(static_cast<Refusal>(why))).has_value(), why);
    BOOST_TEST(!decode_refusal(nack_of(static_cast<Refusal>(why))).has_value(), why);
  }
}

BOOST_AUTO_TEST_CASE(more_items_or_bytes_than_the_limits_are_not_sent) {
  // Expect: what just fits is sent.
  BOOST_TEST(data_of({counting(0, kShortMax)}).size() == kHeaderBytes + 2 + kShortMax);
  BOOST_TEST(data_of(std::vector<FrameBytes>(kItemsMax)).size() == kHeaderBytes + 2 * kItemsMax);
  // Expect: one byte or one item more is not, nor what is short in 16 bits alone.
  BOOST_TEST(data_of({counting(0, kShortMax + 1)}).empty());
  BOOST_TEST(data_of({counting(0, kShortMax), counting(0, 1)}).empty());
  BOOST_TEST(data_of(std::vector<FrameBytes>(kItemsMax + 1)).empty());
  BOOST_TEST(data_of({FrameBytes(0x10000)}).empty());
  BOOST_TEST(data_of({FrameBytes(0x10000 + 1)}).empty());
}

BOOST_AUTO_TEST_CASE(data_of_more_bytes_than_a_message_has_are_none) {
  const auto data_of_one = [](std::size_t bytes) {
    FrameBytes frame = data_of({{}});
    frame[24] = static_cast<std::uint8_t>(bytes >> 8);
    frame[25] = static_cast<std::uint8_t>(bytes);
    frame.resize(frame.size() + bytes);
    return frame;
  };
  BOOST_TEST(is_frame(data_of_one(kShortMax)));
  BOOST_TEST(!is_frame(data_of_one(kShortMax + 1)));
  BOOST_TEST(!is_frame(data_of_one(kFrameMax - kHeaderBytes - 2)));
}

BOOST_AUTO_TEST_CASE(data_of_more_items_than_there_may_be_are_none) {
  for (const unsigned count : {17U, 18U, 0x100U, 0xffffU}) {
    FrameBytes frame = data_of(std::vector<FrameBytes>(kItemsMax));
    frame[2] = static_cast<std::uint8_t>(count >> 8);
    frame[3] = static_cast<std::uint8_t>(count);
    // As many lengths as it says, as far as a frame has room.
    frame.resize(std::min<std::size_t>(kHeaderBytes + 2 * std::size_t{count}, kFrameMax));
    BOOST_TEST(!is_frame(AloneFrame(frame).bytes()), count);
  }
}

BOOST_AUTO_TEST_CASE(data_whose_lengths_are_not_those_of_their_bytes_are_none) {
  const FrameBytes whole = data_of({counting(1, 5), counting(7, 300)});
  for (std::size_t at = 24; at < 28; ++at) {
    for (const std::uint8_t byte : std::initializer_list<std::uint8_t>{0, 2, 4, 6, 0x2b, 0x2d, 0x80, 0xff}) {
      FrameBytes other = whole;
      if (std::exchange(other[at], byte) == byte) continue;
      BOOST_TEST(!is_frame(AloneFrame(other).bytes()), "byte " << at << " is " << unsigned{byte});
    }
  }
  // Expect: nor are those that only together are too long, or fewer or more items.
  FrameBytes longest = data_of(std::vector<FrameBytes>(kItemsMax, counting(0, 250)));
  std::fill_n(longest.begin() + kHeaderBytes, 2 * kItemsMax, std::uint8_t{0xff});
  BOOST_TEST(!is_frame(AloneFrame(longest).bytes()));
  for (const std::uint8_t count : std::initializer_list<std::uint8_t>{0, 1, 3}) {
    FrameBytes other = whole;
    other[3] = count;
    BOOST_TEST(!is_frame(AloneFrame(other).bytes()), "count " << unsigned{count});
  }
}

BOOST_AUTO_TEST_CASE(a_frame_without_room_for_all_of_it_is_nothing) {
  const std::vector<Bytes> items(kItemsMax);
  const std::array<std::function<Encoded(std::span<std::uint8_t>)>, 7> encoders = {
      [](auto to) { return encode_bare(to, {.type = FrameType::kPing}); },
      [](auto to) { return encode_hello(to, sample_hello()); },
      [](auto to) { return encode_flow(to, kAlias, sample_flow(true, true)); },
      [](auto to) { return encode_flow_ok(to, kAlias, kNumber, sample_flow_ok()); },
      [](auto to) { return encode_flow_no(to, kAlias, kNumber, Refusal::kNobody); },
      [](auto to) { return encode_nack(to, kAlias, kNumber, Refusal::kNobody); },
      [&](auto to) { return encode_data(to, kAlias, kNumber, items); }};
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
  BOOST_TEST(test::holds("hostile frames", [&] {
    FrameBytes bytes = frames[test::draw_index(frames.size())];
    for (std::size_t changes = test::draw_index(4); changes-- > 0;)
      bytes[test::draw_index(std::min<std::size_t>(bytes.size(), 64))] = test::draw<std::uint8_t>();
    if (test::draw_bool()) bytes.resize(test::draw<std::size_t>(0, bytes.size() + 9));
    const AloneFrame alone(bytes);
    const Bytes frame = alone.bytes();
    const std::optional<Header> header = decode_header(frame);
    if (!header) return;
    // Whatever its type says, for each decoder has to stand any bytes.
    decode_hello(frame);
    decode_flow(frame, *header);
    decode_flow_ok(frame);
    decode_refusal(frame);
    const std::optional<Items> items = decode_data(frame, *header);
    if (!items) return;
    std::size_t sum = kHeaderBytes + 2 * items->count;
    for (std::size_t i = 0; i < items->count; ++i) {
      const Bytes item = items->item[i];
      EXS_HOLD(item.empty() || item.data() == frame.data() + sum);
      sum += item.size();
    }
    EXS_HOLD(sum == frame.size());
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
