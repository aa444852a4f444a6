// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <vector>

#include "src/wire/codec.h"
#include "tests/support/property.h"

using namespace exs;
using namespace exs::wire;
using exs::test::PropertyDefaults;

namespace codec_test {

using Bytes = std::vector<std::byte>;

Bytes encoded(const Message& message, std::size_t payload_bytes = 0) {
  FixedBytes room;
  const auto fixed = encode(message, room);
  Bytes bytes(fixed.begin(), fixed.end());
  bytes.resize(bytes.size() + payload_bytes, std::byte{0xab});
  return bytes;
}

Message sample(MessageType type) {
  Message message;
  message.header = {type, 0, 0x0102, 0};
  switch (type) {
    case MessageType::kAdvert:
      message.header.sequence = 0x03040506;
      message.advert = {0x1112131415161718, 0x21222324, 0x31323334};
      break;
    case MessageType::kImmediate: message.header.sequence = 7; break;
    case MessageType::kOffer:
      message.header.sequence = 9;
      message.header.flags = kNotify | kMappable;
      message.advert = {0x1112131415161718, 0x21222324, 0x31323334};
      break;
    case MessageType::kNotice:
      message.header.sequence = 10;
      message.header.flags = kOfReceive;
      message.usage = {0x5152535455565758, 0x6162636465666768, 0x71727374};
      break;
    case MessageType::kRevoke:
      message.header.sequence = 11;
      message.header.flags = kOfSend;
      break;
    case MessageType::kRelease:
      message.header.sequence = 12;
      message.header.flags = kOfSend;
      message.usage = {0x5152535455565758, 0x6162636465666768, 0x71727374};
      message.total_bytes = 0x8182838485868788;
      break;
    case MessageType::kAck:
      message.header.sequence = 8;
      message.ack = {AckStatus::kTaken, 0x4142434445464748};
      break;
    case MessageType::kShutdown: message.header.flags = kShutdownSending | kShutdownReceiving; break;
    case MessageType::kTagged:
      message.header.sequence = 15;
      message.header.flags = kSynchronous | kWithData;
      message.label = {0x9192939495969798, 0xa1a2a3a4a5a6a7a8, 0xb1b2b3b4, 0xc1c2c3c4};
      break;
    case MessageType::kReturn: message.label.returned_bytes = 0xd1d2d3d4; break;
    case MessageType::kGrant: message.granted = 0xe1e2e3e4; break;
    case MessageType::kHeld:
      message.header.sequence = 17;
      message.header.flags = kWithData;
      message.label = {0x9192939495969798, 0xa1a2a3a4a5a6a7a8, 0xb1b2b3b4, 0xc1c2c3c4};
      message.held_bytes = 0xe1e2e3e4e5e6e7e8;
      break;
    case MessageType::kWant:
      message.label.bits = 0x9192939495969798;
      message.ignore = 0xf1f2f3f4f5f6f7f8;
      break;
    case MessageType::kFetch: message.header.sequence = 18; break;
    case MessageType::kFetched: message.header.sequence = 19; break;
    case MessageType::kRecall: message.header.sequence = 13; break;
    case MessageType::kRecallAck:
      message.header.sequence = 14;
      message.header.flags = kRecalled;
      break;
    default: break;
  }
  return message;
}

std::vector<MessageType> all_types() {
  std::vector<MessageType> types;
  for (unsigned type = 1; type <= 23; ++type) {
    // Has a tail always: below.
    if (type != static_cast<unsigned>(MessageType::kTaggedAdvert))
      types.push_back(static_cast<MessageType>(type));
  }
  return types;
}

bool same(const Message& a, const Message& b) {
  return a.header.type == b.header.type && a.header.flags == b.header.flags &&
         a.header.credits == b.header.credits && a.header.sequence == b.header.sequence &&
         a.advert.address == b.advert.address && a.advert.length_bytes == b.advert.length_bytes &&
         a.advert.key == b.advert.key && a.ack.status == b.ack.status &&
         a.ack.bytes_taken == b.ack.bytes_taken && a.payload_bytes == b.payload_bytes &&
         a.target_offset == b.target_offset && a.usage.bytes == b.usage.bytes &&
         a.usage.last_offset == b.usage.last_offset && a.usage.transfers == b.usage.transfers &&
         a.total_bytes == b.total_bytes && a.label.bits == b.label.bits && a.label.data == b.label.data &&
         a.label.returned_bytes == b.label.returned_bytes && a.label.id == b.label.id &&
         a.held_bytes == b.held_bytes && a.ignore == b.ignore;
}

void expect_malformed(const Bytes& bytes, const std::string& what) {
  // Expect: EPROTO and nothing else, whatever the bytes.
  const auto decoded = decode(bytes);
  BOOST_TEST(!decoded.has_value(), what);
  if (!decoded) BOOST_TEST(decoded.error().error() == EPROTO, what);
}

}  // namespace codec_test

BOOST_AUTO_TEST_SUITE(codec_test, *boost::unit_test::fixture<PropertyDefaults>())

BOOST_AUTO_TEST_CASE(every_message_comes_back_as_it_was) {
  for (const MessageType type : all_types()) {
    const auto decoded = decode(encoded(sample(type)));
    BOOST_REQUIRE(decoded.has_value());
    BOOST_TEST(same(*decoded, sample(type)));
  }
}

BOOST_AUTO_TEST_CASE(an_advert_has_its_bytes_where_the_format_says) {
  const Bytes bytes = encoded(sample(MessageType::kAdvert));
  const unsigned char expected[] = {2,    0,    1, 2, 3, 4, 5,    6,    0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
                                    0x17, 0x18, 0, 0, 0, 0, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34};
  BOOST_REQUIRE(bytes.size() == sizeof expected);
  BOOST_TEST(std::memcmp(bytes.data(), expected, sizeof expected) == 0);
}

BOOST_AUTO_TEST_CASE(an_immediate_carries_any_payload_even_none) {
  for (const std::size_t payload_bytes : {0, 1, 4096}) {
    const auto decoded = decode(encoded(sample(MessageType::kImmediate), payload_bytes));
    BOOST_REQUIRE(decoded.has_value());
    BOOST_TEST(decoded->payload_bytes == payload_bytes);
  }
}

BOOST_AUTO_TEST_CASE(an_advert_with_a_label_has_windows_behind_it) {
  Message message;
  message.header = {MessageType::kTaggedAdvert, kWithData, 1, 16};
  message.label = {1, 2, 3, 4};
  Bytes bytes = encoded(message, 2 * kListEntryBytes);
  const std::span<std::byte> list = std::span(bytes).last(2 * kListEntryBytes);
  encode_list_entry({100, 200, 3}, list, 0);
  encode_list_entry({1000, 2000, 4}, list, 1);
  const auto decoded = decode(bytes);
  BOOST_REQUIRE(decoded.has_value());
  message.payload_bytes = 2 * kListEntryBytes;
  BOOST_TEST(same(*decoded, message));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    if (length == kTaggedWithDataBytes + kListEntryBytes) continue;  // one window less
    expect_malformed(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)), "cut");
  }
}

BOOST_AUTO_TEST_CASE(the_head_of_a_message_with_a_tag_is_what_decode_finds) {
  for (const std::size_t payload_bytes : {0, 1, 4096}) {
    const Bytes bytes = encoded(sample(MessageType::kTagged), payload_bytes);
    TaggedHead head;
    BOOST_REQUIRE(decode_tagged(std::span(bytes).first(kTaggedWithDataBytes), head));
    Message message;
    message.header = head.header;
    message.label = head.label;
    message.payload_bytes =
        static_cast<std::uint32_t>(bytes.size()) - static_cast<std::uint32_t>(head.fixed_bytes());
    BOOST_TEST(same(message, *decode(bytes)));
    BOOST_TEST(!decode_tagged(std::span(bytes).first(kTaggedBytes), head));
    BOOST_TEST(!decode_tagged(encoded(sample(MessageType::kImmediate), 64), head));
  }
}

BOOST_AUTO_TEST_CASE(a_message_cut_anywhere_is_malformed) {
  for (const MessageType type : all_types()) {
    const Bytes whole = encoded(sample(type));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      expect_malformed(
          cut, "type " + std::to_string(static_cast<int>(type)) + " cut to " + std::to_string(length));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_message_with_a_tail_is_malformed_unless_it_has_a_payload) {
  for (const MessageType type : all_types()) {
    if (type != MessageType::kImmediate && type != MessageType::kTagged)
      expect_malformed(encoded(sample(type), 1), "tail");
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_type_is_malformed) {
  for (const unsigned type : {0U, 20U, 0x80U, 0xffU}) {
    for (const std::size_t length : {kHeaderBytes, kAckBytes, kAdvertBytes}) {
      Bytes bytes(length, std::byte{0});
      bytes[kTypeOffset] = static_cast<std::byte>(type);
      expect_malformed(bytes, "type " + std::to_string(type));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_field_that_must_be_zero_is_malformed_when_set) {
  for (const MessageType type : all_types()) {
    Message message = sample(type);
    const bool has_flags = message.header.flags != 0 || type == MessageType::kAdvert;
    message.header.flags = has_flags ? 32 : 1;
    expect_malformed(encoded(message), "flags");
    message = sample(type);
    if (message.header.sequence != 0) continue;
    message.header.sequence = 1;
    expect_malformed(encoded(message), "sequence");
  }
}

BOOST_AUTO_TEST_CASE(messages_that_say_nothing_or_nonsense_are_malformed) {
  Message shutdown = sample(MessageType::kShutdown);
  shutdown.header.flags = 0;
  expect_malformed(encoded(shutdown), "shutdown of nothing");
  Message credit = sample(MessageType::kCredit);
  credit.header.credits = 0;
  expect_malformed(encoded(credit), "credit message without credits");
  Message refused = sample(MessageType::kAck);
  refused.ack.status = AckStatus::kRefused;
  expect_malformed(encoded(refused), "refused but taken");
  Message ack = sample(MessageType::kAck);
  ack.ack.status = static_cast<AckStatus>(5);
  expect_malformed(encoded(ack), "status");
  Message advert = sample(MessageType::kAdvert);
  advert.advert = {UINT64_MAX - 9, 10, 0};
  expect_malformed(encoded(advert), "window wraps");
  advert.advert = {UINT64_MAX - 10, 10, 0};
  // Expect: a window that ends just below 2^64 is legal.
  BOOST_TEST(decode(encoded(advert)).has_value());
}

BOOST_AUTO_TEST_CASE(the_flags_of_an_advert_go_together_or_not) {
  for (unsigned flags = 0; flags < 32; ++flags) {
    Message advert = sample(MessageType::kAdvert);
    advert.header.flags = static_cast<std::uint8_t>(flags);
    advert.target_offset = (flags & kAtOffset) != 0 ? 77 : 0;
    Bytes bytes = encoded(advert, (flags & kList) != 0 ? kListEntryBytes : 0);
    const bool persistent = (flags & kPersistent) != 0;
    const bool legal =
        flags < 16 && (persistent ? (flags & (kAtOffset | kList)) == 0 : (flags & kNotify) == 0);
    if (legal && (flags & kList) != 0) {
      encode_list_entry({5, 6, 7}, std::span(bytes).last(kListEntryBytes), 0);
      advert.payload_bytes = kListEntryBytes;
    }
    const auto decoded = decode(bytes);
    BOOST_TEST(decoded.has_value() == legal, flags);
    if (decoded) BOOST_TEST(same(*decoded, advert), flags);
  }
}

BOOST_AUTO_TEST_CASE(a_list_of_windows_has_whole_entries_none_empty_none_too_long) {
  Message advert = sample(MessageType::kAdvert);
  advert.header.flags = kList;
  const auto with_list = [&advert](std::vector<Advert> windows, std::size_t stray_bytes = 0) {
    Bytes bytes = encoded(advert, windows.size() * kListEntryBytes + stray_bytes);
    const std::span<std::byte> list = std::span(bytes).subspan(kAdvertBytes);
    for (std::size_t i = 0; i < windows.size(); ++i) encode_list_entry(windows[i], list, i);
    return bytes;
  };
  const Bytes two = with_list({{1, 2, 3}, {UINT64_MAX - 4, 4, 6}});
  BOOST_REQUIRE(decode(two).has_value());
  BOOST_TEST(decode(two)->payload_bytes == 2 * kListEntryBytes);
  const Advert last = list_entry(std::span(two).subspan(kAdvertBytes), 1);
  BOOST_TEST((last.address == UINT64_MAX - 4 && last.length_bytes == 4 && last.key == 6));
  expect_malformed(with_list({}), "no entry");
  expect_malformed(with_list({{1, 2, 3}}, 1), "part of an entry");
  expect_malformed(with_list({{1, 0, 3}}), "empty entry");
  expect_malformed(with_list({{2, UINT64_MAX - 1, 3}}), "entry wraps");
  expect_malformed(with_list({{0, UINT64_MAX - 0x21222324 + 1, 3}}), "sum wraps");
  advert.advert.length_bytes = 0;
  expect_malformed(with_list({{1, 2, 3}}), "empty window with a list");
}

BOOST_AUTO_TEST_CASE(notices_and_releases_that_contradict_themselves_are_malformed) {
  Message notice = sample(MessageType::kNotice);
  notice.usage.transfers = 0;
  expect_malformed(encoded(notice), "notice of nothing");
  Message release = sample(MessageType::kRelease);
  release.usage.transfers = 0;
  expect_malformed(encoded(release), "usage without transfers");
  release.usage = {};
  BOOST_TEST(decode(encoded(release)).has_value());
  release.usage = {11, 0, 1};
  release.total_bytes = 10;
  expect_malformed(encoded(release), "less in all than untold");
  for (const MessageType type : {MessageType::kNotice, MessageType::kRevoke, MessageType::kRelease}) {
    for (const std::uint8_t flags : std::initializer_list<std::uint8_t>{0, 3, 4}) {
      Message message = sample(type);
      message.header.flags = flags;
      expect_malformed(encoded(message), "not one window");
    }
  }
  Message offer = sample(MessageType::kOffer);
  for (const std::uint8_t flags : std::initializer_list<std::uint8_t>{1, 3, 4, 8}) {
    offer.header.flags = flags;
    expect_malformed(encoded(offer), "offer flags");
  }
}

// The short way of a message with a tag says what the way of all messages says.
BOOST_AUTO_TEST_CASE(the_head_of_a_message_with_a_tag_is_the_same_by_the_short_way) {
  const bool held = exs::test::holds("the head of a message with a tag", [] {
    Message message;
    message.header.type = MessageType::kTagged;
    message.header.flags = exs::test::draw<std::uint8_t>(0, 1) == 0 ? 0 : kWithData;
    message.header.credits = exs::test::draw<std::uint16_t>(0, 0xffff);
    message.header.sequence = exs::test::draw<std::uint32_t>(0, 0xffffffff);
    message.label.bits = exs::test::draw<std::uint64_t>();
    message.label.data = message.header.flags == 0 ? 0 : exs::test::draw<std::uint64_t>();
    message.label.returned_bytes = exs::test::draw<std::uint32_t>(0, 0xffffffff);
    TaggedBytes room;
    const auto head = encode_tagged({message.header, message.label}, room);
    const Bytes whole = encoded(message);
    EXS_HOLD(std::equal(head.begin(), head.end(), whole.begin(), whole.end()));

    Bytes bytes(head.begin(), head.end());
    bytes[exs::test::draw<std::size_t>(0, kFlagsOffset)] ^= std::byte{exs::test::draw<std::uint8_t>(0, 7)};
    TaggedHead short_way;
    const bool is_tagged = decode_tagged(bytes, short_way);
    const auto decoded = decode(bytes);
    EXS_HOLD(is_tagged == (decoded && decoded->header.type == MessageType::kTagged));
    if (!is_tagged) return;
    Message same_way;
    same_way.header = short_way.header;
    same_way.label = short_way.label;
    same_way.payload_bytes =
        static_cast<std::uint32_t>(bytes.size()) - static_cast<std::uint32_t>(short_way.fixed_bytes());
    EXS_HOLD(same(same_way, *decoded));
  });
  BOOST_TEST(held);
}

// The short way of an immediate's header says what the way of all messages says.
BOOST_AUTO_TEST_CASE(the_header_of_an_immediate_is_the_same_in_one_word) {
  const bool held = exs::test::holds("an immediate's header in one word", [] {
    Message message;
    message.header.type = MessageType::kImmediate;
    message.header.credits = exs::test::draw<std::uint16_t>(0, 0xffff);
    message.header.sequence = exs::test::draw<std::uint32_t>(0, 0xffffffff);
    const auto header = encode_immediate(message.header.credits, message.header.sequence);
    const Bytes whole = encoded(message);
    EXS_HOLD(std::equal(header.begin(), header.end(), whole.begin(), whole.end()));

    std::array<std::byte, kHeaderBytes> bytes = header;
    bytes[exs::test::draw<std::size_t>(0, kFlagsOffset)] ^= std::byte{exs::test::draw<std::uint8_t>(0, 3)};
    Header short_way;
    const bool is_immediate = decode_immediate(bytes, short_way);
    const auto decoded = decode(bytes);
    EXS_HOLD(is_immediate == (decoded && decoded->header.type == MessageType::kImmediate));
    if (!is_immediate) return;
    EXS_HOLD(short_way.flags == 0 && short_way.type == decoded->header.type);
    EXS_HOLD(short_way.credits == decoded->header.credits);
    EXS_HOLD(short_way.sequence == decoded->header.sequence);
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(no_bytes_harm_the_decoder_and_what_it_accepts_is_canonical) {
  const bool held = exs::test::holds("decode of random bytes", [] {
    auto raw = exs::test::draw_bytes();
    if (!raw.empty()) raw[0] = exs::test::draw<std::uint8_t>(0, 16);
    Bytes bytes(raw.size());
    if (!raw.empty()) std::memcpy(bytes.data(), raw.data(), raw.size());
    const auto decoded = decode(bytes);
    if (!decoded) return;
    const Bytes again = encoded(*decoded);
    EXS_HOLD(again.size() + decoded->payload_bytes == bytes.size());
    EXS_HOLD(std::equal(again.begin(), again.end(), bytes.begin()));
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_SUITE_END()
