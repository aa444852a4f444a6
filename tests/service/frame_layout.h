// What tests of frames have in common: bytes, and the tables of FORMAT.md.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "service/wire/frames.h"
#include "tests/support/property.h"

namespace exs::svc::test {

using FrameBytes = std::vector<std::uint8_t>;

constexpr std::uint32_t kAlias = 0x01020304;
constexpr std::uint64_t kNumber = 0x1112131415161718;

// Bytes that count up, so that none stands for another.
inline FrameBytes counting(std::uint8_t first, std::size_t count) {
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

// What is written by `encode(room)`.
template <typename Encoder>
FrameBytes made_by(Encoder encode) {
  std::array<std::uint8_t, kFrameMax> room;
  room.fill(0xee);
  const Encoded frame = encode(std::span<std::uint8_t>(room));
  return {frame.begin(), frame.end()};
}

// ---------------------------------------------------------------- tables of FORMAT.md

struct LayoutRow {
  std::size_t offset;
  FrameBytes bytes;
};

// The rows are all of the frame, without a gap.
inline void expect_layout(const FrameBytes& frame, const std::vector<LayoutRow>& rows) {
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

inline std::vector<LayoutRow> behind_header(std::uint8_t type, std::uint8_t flags, const FrameBytes& count,
                                            const FrameBytes& flow, const FrameBytes& number,
                                            const FrameBytes& ack, const std::vector<LayoutRow>& body) {
  std::vector<LayoutRow> rows = {{0, {type}}, {1, {flags}}, {2, count}, {4, flow}, {8, number}, {16, ack}};
  rows.insert(rows.end(), body.begin(), body.end());
  return rows;
}

inline const FrameBytes kZero2(2);
inline const FrameBytes kZero4(4);
inline const FrameBytes kZero8(8);
inline const FrameBytes kAliasBytes = {1, 2, 3, 4};
inline const FrameBytes kNumberBytes = counting(0x11, 8);

inline std::vector<FrameBytes> draw_items() {
  std::vector<FrameBytes> items(exs::test::draw_index(kItemsMax + 1));
  std::size_t left = kShortMax;
  for (FrameBytes& item : items) {
    item = counting(exs::test::draw<std::uint8_t>(), exs::test::draw<std::size_t>(0, left + 1));
    left -= item.size();
  }
  return items;
}

// Of these items, which stay where they are, and of nothing else.
inline Data data_with(const std::vector<FrameBytes>& items) {
  Data data;
  data.items.count = items.size();
  for (std::size_t i = 0; i < std::min(items.size(), kItemsMax); ++i) data.items.item[i] = items[i];
  return data;
}
inline FrameBytes frame_of(const Data& data) {
  return made_by([&](auto room) { return encode_data(room, kAlias, kNumber, data); });
}
inline FrameBytes data_of(const std::vector<FrameBytes>& items) {
  return frame_of(data_with(items));
}

}  // namespace exs::svc::test
