// DATA frames: messages, requests, replies and long items, byte by byte as FORMAT.md has them, whatever lies in them, and what is none.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "service/wire/frames.h"
#include "tests/service/frame_layout.h"
#include "tests/support/property.h"

namespace exs::svc {
namespace data_frames_test {

using namespace exs::svc::test;

bool are_items(const Items& items, const std::vector<FrameBytes>& sent) {
  if (items.count != sent.size()) return false;
  for (std::size_t i = 0; i < sent.size(); ++i)
    if (!std::equal(items.item[i].begin(), items.item[i].end(), sent[i].begin(), sent[i].end())) return false;
  return true;
}

std::optional<Data> decoded(const FrameBytes& frame) {
  const AloneFrame alone(frame);
  const std::optional<Header> header = decode_header(alone.bytes());
  return header && header->type == FrameType::kData ? decode_data(frame, *header) : std::nullopt;
}
bool is_data(const FrameBytes& frame) {
  return decoded(frame).has_value();
}

// Of all that a frame may say.
Data draw_data(const std::vector<FrameBytes>& items) {
  Data data = data_with(items);
  const std::uint8_t kinds[] = {
      0, kIsVoid, kIsRequest, kIsReply, kIsReply | kMoreFollow, kIsReply | kUnanswered};
  data.kind = kinds[exs::test::draw_index(std::size(kinds))];
  if ((data.kind & (kIsRequest | kIsReply)) != 0) data.call = exs::test::draw<std::uint64_t>();
  if ((data.kind & kIsRequest) != 0) data.limit_ms = exs::test::draw<std::uint32_t>();
  if ((data.kind & kIsReply) != 0) data.status = static_cast<std::int32_t>(exs::test::draw<std::uint32_t>());
  if (data.kind == kIsRequest) data.returns.resize(exs::test::draw_index(kItemsMax + 1));
  for (ReturnSlot& slot : data.returns)
    slot = {exs::test::draw<std::uint32_t>(), exs::test::draw<std::uint32_t>()};
  data.longs.count = exs::test::draw_index(kItemsMax + 1);
  if ((data.kind & kIsReply) != 0 && data.longs.count > 0 && exs::test::draw_bool())
    data.lane_count = exs::test::draw<std::uint64_t>();
  for (std::size_t i = 0; i < data.longs.count; ++i)
    data.longs.bytes[i] = exs::test::draw<std::uint64_t>() % (kLongMax + 1);
  return data;
}

bool is_same(const Data& one, const Data& other, const std::vector<FrameBytes>& items) {
  const auto is_slot = [](const ReturnSlot& a, const ReturnSlot& b) {
    return a.offset == b.offset && a.bytes == b.bytes;
  };
  return one.lane_count == other.lane_count &&
         std::equal(one.returns.begin(), one.returns.end(), other.returns.begin(), other.returns.end(),
                    is_slot) &&
         one.kind == other.kind && one.call == other.call && one.limit_ms == other.limit_ms &&
         one.status == other.status && one.longs.count == other.longs.count &&
         one.longs.bytes == other.longs.bytes && are_items(one.items, items);
}

}  // namespace data_frames_test

BOOST_AUTO_TEST_SUITE(data_frames_test, *boost::unit_test::fixture<exs::test::PropertyDefaults>())

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

BOOST_AUTO_TEST_CASE(requests_and_replies_have_their_bytes_where_the_format_says) {
  const std::vector<FrameBytes> items = {{0x71}};
  Data data = data_with(items);
  data.call = 0x2122232425262728;
  data.kind = kIsRequest;
  data.limit_ms = 0x31323334;
  const std::vector<LayoutRow> call = {
      {24, counting(0x21, 8)}, {32, counting(0x31, 4)}, {36, {0, 1}}, {38, {0x71}}};
  expect_layout(frame_of(data), behind_header(5, 1, {0, 1}, kAliasBytes, kNumberBytes, kZero8, call));
  data.limit_ms = 0;
  data.status = 0x31323334;
  for (const std::uint8_t more : std::initializer_list<std::uint8_t>{0, kMoreFollow, kUnanswered}) {
    data.kind = kIsReply | more;
    const auto flags = static_cast<std::uint8_t>(2 | more);
    expect_layout(frame_of(data), behind_header(5, flags, {0, 1}, kAliasBytes, kNumberBytes, kZero8, call));
  }
  BOOST_TEST(unsigned{kMoreFollow} == 4U);
  BOOST_TEST(unsigned{kUnanswered} == 8U);
  Data nothing;
  nothing.kind = kIsVoid;
  expect_layout(frame_of(nothing), behind_header(5, 32, kZero2, kAliasBytes, kNumberBytes, kZero8, {}));
}

BOOST_AUTO_TEST_CASE(long_items_have_their_bytes_where_the_format_says) {
  const std::vector<FrameBytes> items = {{0x71}};
  Data data = data_with(items);
  data.longs.count = 2;
  data.longs.bytes = {0x31, 0x10000000000};
  expect_layout(frame_of(data), behind_header(5, 16, {0, 1}, kAliasBytes, kNumberBytes, kZero8,
                                              {{24, {0, 2}},
                                               {26, {0, 0, 0, 0, 0, 0, 0, 0x31}},
                                               {34, {0, 0, 1, 0, 0, 0, 0, 0}},
                                               {42, {0, 1}},
                                               {44, {0x71}}}));
  data.kind = kIsRequest;
  BOOST_TEST(frame_of(data).size() == 45U + 12U);
  // Expect: the longest of all has room.
  const std::vector<FrameBytes> many(kItemsMax, counting(0, 250));
  Data longest = data_with(many);
  longest.kind = kIsRequest;
  longest.longs.count = kItemsMax;
  BOOST_TEST(frame_of(longest).size() == 24U + 12U + 2U + 128U + 32U + 4000U);
}

BOOST_AUTO_TEST_CASE(returns_have_their_bytes_where_the_format_says) {
  Data data;
  data.kind = kIsRequest;
  data.call = 0x2122232425262728;
  data.limit_ms = 0x31323334;
  data.returns = {{0x41424344, 0x45464748}, {0, 1}};
  data.longs.count = 1;
  data.longs.bytes = {7};
  const std::vector<LayoutRow> longs = {{54, {0, 1}}, {56, {0, 0, 0, 0, 0, 0, 0, 7}}};
  std::vector<LayoutRow> body = {{24, counting(0x21, 8)},
                                 {32, counting(0x31, 4)},
                                 {36, {0, 2}},
                                 {38, counting(0x41, 8)},
                                 {46, {0, 0, 0, 0, 0, 0, 0, 1}}};
  body.insert(body.end(), longs.begin(), longs.end());
  expect_layout(frame_of(data),
                behind_header(5, 1 | 16 | 64, kZero2, kAliasBytes, kNumberBytes, kZero8, body));
  Data reply;
  reply.kind = kIsReply;
  reply.call = data.call;
  reply.longs = data.longs;
  reply.lane_count = 0;
  FrameBytes frame = frame_of(reply);
  set_lane_count(frame, 0x5152535455565758);
  expect_layout(frame, behind_header(5, 2 | 16 | 64, kZero2, kAliasBytes, kNumberBytes, kZero8,
                                     {{24, counting(0x21, 8)},
                                      {32, {0, 0, 0, 0}},
                                      {36, counting(0x51, 8)},
                                      {44, {0, 1}},
                                      {46, {0, 0, 0, 0, 0, 0, 0, 7}}}));
  // Expect: the longest of all has room.
  const std::vector<FrameBytes> many(kItemsMax, counting(0, 250));
  Data longest = data_with(many);
  longest.kind = kIsRequest;
  longest.longs.count = kItemsMax;
  longest.returns.resize(kItemsMax);
  BOOST_TEST(frame_of(longest).size() == 24U + 12U + 2U + 128U + 2U + 128U + 32U + 4000U);
}

BOOST_AUTO_TEST_CASE(returns_of_what_has_none_are_none) {
  Data request;
  request.kind = kIsRequest;
  request.returns.resize(1);
  FrameBytes frame = frame_of(request);
  BOOST_TEST(is_data(frame));
  for (const unsigned flags : {64U, 32U | 64U, 64U | 16U}) {
    frame[1] = static_cast<std::uint8_t>(flags);
    BOOST_TEST(!is_data(frame), flags);
  }
  frame = frame_of(request);
  frame[37] = 17;
  frame.resize(38 + 17 * 8);
  BOOST_TEST(!is_data(frame));
  frame[37] = 0;
  frame.resize(38);
  BOOST_TEST(!is_data(frame));
  request.returns.resize(kItemsMax + 1);
  BOOST_TEST(frame_of(request).empty());
  // Expect: a reply without long items has none that were written.
  Data reply;
  reply.kind = kIsReply;
  reply.lane_count = 1;
  BOOST_TEST(!is_data(frame_of(reply)));
}

BOOST_AUTO_TEST_CASE(data_come_back_as_they_were) {
  BOOST_TEST(exs::test::holds("the round trip of data", [] {
    const std::vector<FrameBytes> items = draw_items();
    const Data sent = draw_data(items);
    const FrameBytes frame = frame_of(sent);
    const std::optional<Header> header = decode_header(frame);
    EXS_HOLD(header.has_value() && header->type == FrameType::kData);
    EXS_HOLD(header->flow == kAlias && header->number == kNumber && header->count == items.size());
    const std::optional<Data> data = decode_data(frame, *header);
    EXS_HOLD(data.has_value() && is_same(*data, sent, items));
  }));
}

BOOST_AUTO_TEST_CASE(a_frame_that_is_numbered_again_is_one_with_other_numbers) {
  BOOST_TEST(exs::test::holds("renumber", [] {
    const std::vector<FrameBytes> items = draw_items();
    const Data data = draw_data(items);
    FrameBytes frame = frame_of(data);
    const FrameBytes before = frame;
    const auto alias = exs::test::draw<std::uint32_t>();
    const auto number = exs::test::draw<std::uint64_t>();
    renumber(frame, alias, number, 9);
    EXS_HOLD(decode_header(frame)->ack == 9);
    renumber(frame, alias, number, 0);
    EXS_HOLD(frame == made_by([&](auto room) { return encode_data(room, alias, number, data); }));
    // Back again, so nothing else has changed.
    renumber(frame, kAlias, kNumber, 0);
    EXS_HOLD(frame == before);
  }));
}

BOOST_AUTO_TEST_CASE(kinds_that_exclude_each_other_are_none) {
  const std::vector<FrameBytes> items = {{0x71}};
  Data data = data_with(items);
  data.kind = kIsReply;
  const FrameBytes reply = frame_of(data);
  const auto with_flags = [&](unsigned flags) {
    FrameBytes frame = reply;
    frame[1] = static_cast<std::uint8_t>(flags);
    return is_data(frame);
  };
  BOOST_TEST(with_flags(kIsReply));
  BOOST_TEST(with_flags(kIsRequest));
  BOOST_TEST(with_flags(kIsReply | kMoreFollow | kUnanswered));
  BOOST_TEST(!with_flags(kIsReply | kIsRequest));
  BOOST_TEST(!with_flags(kIsRequest | kMoreFollow));
  BOOST_TEST(!with_flags(kIsRequest | kUnanswered));
  BOOST_TEST(!with_flags(kIsReply | kIsVoid));
  // Expect: bits that have no meaning say nothing.
  BOOST_TEST(with_flags(kIsReply | 0x80));
}

BOOST_AUTO_TEST_CASE(long_items_beyond_the_limits_are_none) {
  Data data;
  data.longs.count = kItemsMax;
  FrameBytes frame = frame_of(data);
  BOOST_TEST(is_data(frame));
  frame[26 + 2] = 1;  // of the first length: just the most
  BOOST_TEST(is_data(frame));
  frame[26 + 7] = 1;
  BOOST_TEST(!is_data(frame));
  Data none;
  none.longs.count = 1;
  frame = frame_of(none);
  frame[25] = 0;
  frame.resize(26);
  BOOST_TEST(!is_data(frame));
  none.longs.count = kItemsMax + 1;
  BOOST_TEST(frame_of(none).empty());
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
  BOOST_TEST(is_data(data_of_one(kShortMax)));
  BOOST_TEST(!is_data(data_of_one(kShortMax + 1)));
  BOOST_TEST(!is_data(data_of_one(kFrameMax - kHeaderBytes - 2)));
}

BOOST_AUTO_TEST_CASE(data_of_more_items_than_there_may_be_are_none) {
  for (const unsigned count : {17U, 18U, 0x100U, 0xffffU}) {
    FrameBytes frame = data_of(std::vector<FrameBytes>(kItemsMax));
    frame[2] = static_cast<std::uint8_t>(count >> 8);
    frame[3] = static_cast<std::uint8_t>(count);
    // As many lengths as it says, as far as a frame has room.
    frame.resize(std::min<std::size_t>(kHeaderBytes + 2 * std::size_t{count}, kFrameMax));
    BOOST_TEST(!is_data(frame), count);
  }
}

BOOST_AUTO_TEST_CASE(data_whose_lengths_are_not_those_of_their_bytes_are_none) {
  const FrameBytes whole = data_of({counting(1, 5), counting(7, 300)});
  for (std::size_t at = 24; at < 28; ++at) {
    for (const std::uint8_t byte : std::initializer_list<std::uint8_t>{0, 2, 4, 6, 0x2b, 0x2d, 0x80, 0xff}) {
      FrameBytes other = whole;
      if (std::exchange(other[at], byte) == byte) continue;
      BOOST_TEST(!is_data(other), "byte " << at << " is " << unsigned{byte});
    }
  }
  // Expect: nor are those that only together are too long, or fewer or more items.
  FrameBytes longest = data_of(std::vector<FrameBytes>(kItemsMax, counting(0, 250)));
  std::fill_n(longest.begin() + kHeaderBytes, 2 * kItemsMax, std::uint8_t{0xff});
  BOOST_TEST(!is_data(longest));
  for (const std::uint8_t count : std::initializer_list<std::uint8_t>{0, 1, 3}) {
    FrameBytes other = whole;
    other[3] = count;
    BOOST_TEST(!is_data(other), "count " << unsigned{count});
  }
}

BOOST_AUTO_TEST_CASE(bytes_of_anybody_are_no_data_or_end_where_they_end) {
  BOOST_TEST(exs::test::holds("hostile data", [] {
    const std::vector<FrameBytes> items = draw_items();
    FrameBytes bytes = frame_of(draw_data(items));
    for (std::size_t changes = exs::test::draw_index(4); changes-- > 0;)
      bytes[exs::test::draw_index(std::min<std::size_t>(bytes.size(), 200))] =
          exs::test::draw<std::uint8_t>();
    if (exs::test::draw_bool()) bytes.resize(exs::test::draw<std::size_t>(0, bytes.size() + 9));
    const AloneFrame alone(bytes);
    const Bytes frame = alone.bytes();
    const std::optional<Header> header = decode_header(frame);
    if (!header) return;
    const std::optional<Data> data = decode_data(frame, *header);
    if (!data) return;
    EXS_HOLD(data->longs.count <= kItemsMax);
    std::size_t sum = kHeaderBytes + 2 * data->items.count;
    if ((data->kind & (kIsRequest | kIsReply)) != 0) sum += 12;
    if (!data->returns.empty()) sum += 2 + 8 * data->returns.size();
    if (data->lane_count) sum += 8;
    if (data->longs.count > 0) sum += 2 + 8 * data->longs.count;
    for (std::size_t i = 0; i < data->items.count; ++i) {
      const Bytes item = data->items.item[i];
      EXS_HOLD(item.empty() || item.data() == frame.data() + sum);
      sum += item.size();
    }
    EXS_HOLD(sum == frame.size());
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
