// The hello, its introduction and the rejection: each field there and back, at its place, and what no end may say.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/wire/codec.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/bytes.h"

namespace exs::wire {
namespace hello_codec_test {

using Bytes = std::vector<std::byte>;

// Each byte of each field differs from all others.
HelloFields plain() {
  HelloFields fields;
  fields.version_min = fields.version_max = 1;
  fields.kind = 1;
  fields.send_credits = 0x1112;
  fields.receive_credits = 0x1314;
  fields.small_bytes = 0x15161718;
  fields.read_depth = 0x191a;
  return fields;
}

HelloFields of_rank() {
  HelloFields fields = plain();
  fields.version_max = kTaggedVersionMax;
  fields.kind = kTaggedKind;
  fields.introduction = {
      .from = 0x21222324, .to = 0x25262728, .eager_bytes_log2 = 20, .adverts_log2 = 7, .job_size = 0x313233};
  for (std::size_t i = 0; i < 16; ++i) fields.introduction.job_key[i] = static_cast<std::byte>(0x40 + i);
  return fields;
}

HelloFields of_id() {
  HelloFields fields = of_rank();
  fields.introduction.from = fields.introduction.to = 0;
  fields.introduction.id = 0x5152535455565758;
  return fields;
}

// In room that held something else before.
Bytes encoded(const HelloFields& fields) {
  std::array<std::byte, kTaggedHelloBytes> room;
  room.fill(std::byte{0xee});
  encode_hello(fields, std::span(room).first<kHelloBytes>());
  const bool is_tagged = fields.kind == kTaggedKind;
  if (is_tagged) encode_introduction(fields.introduction, room);
  return {room.begin(), room.begin() + (is_tagged ? kTaggedHelloBytes : kHelloBytes)};
}

int error_of(const Bytes& bytes) {
  const auto decoded = decode_hello(bytes);
  return decoded ? 0 : decoded.error().error();
}
int error_with(Bytes bytes, std::size_t offset, unsigned value) {
  bytes.at(offset) = static_cast<std::byte>(value);
  return error_of(bytes);
}
int error_without(Bytes bytes, std::size_t offset, std::size_t length) {
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), length, std::byte{0});
  return error_of(bytes);
}

void expect_same(const HelloFields& one, const HelloFields& other) {
  BOOST_TEST(one.version_min == other.version_min);
  BOOST_TEST(one.version_max == other.version_max);
  BOOST_TEST(one.kind == other.kind);
  BOOST_TEST(one.send_credits == other.send_credits);
  BOOST_TEST(one.receive_credits == other.receive_credits);
  BOOST_TEST(one.small_bytes == other.small_bytes);
  BOOST_TEST(one.read_depth == other.read_depth);
  BOOST_TEST(one.introduction.from == other.introduction.from);
  BOOST_TEST(one.introduction.to == other.introduction.to);
  BOOST_TEST(one.introduction.id == other.introduction.id);
  BOOST_TEST((one.introduction.job_key == other.introduction.job_key));
  BOOST_TEST(one.introduction.eager_bytes_log2 == other.introduction.eager_bytes_log2);
  BOOST_TEST(one.introduction.adverts_log2 == other.introduction.adverts_log2);
  BOOST_TEST(one.introduction.job_size == other.introduction.job_size);
}

}  // namespace hello_codec_test

BOOST_AUTO_TEST_SUITE(hello_codec_test)

BOOST_AUTO_TEST_CASE(every_field_comes_back_as_it_was) {
  for (const HelloFields& fields : {plain(), of_rank(), of_id()}) {
    const auto decoded = decode_hello(encoded(fields));
    BOOST_REQUIRE(decoded.has_value());
    expect_same(*decoded, fields);
  }
}

BOOST_AUTO_TEST_CASE(bytes_without_a_field_are_zero) {
  const Bytes bytes = encoded(plain());
  BOOST_TEST((bytes[kHelloReserved1Offset] == std::byte{0}));
  BOOST_TEST(load_be<std::uint16_t>(bytes.data() + kHelloReserved2Offset) == 0);
  BOOST_TEST((encoded(of_rank())[kHelloReserved3Offset] == std::byte{0}));
  BOOST_TEST((encoded(of_rank())[kHelloByIdOffset] == std::byte{0}));
  BOOST_TEST((encoded(of_id())[kHelloByIdOffset] == std::byte{1}));
}

BOOST_AUTO_TEST_CASE(a_hello_that_is_cut_or_has_another_magic_is_malformed) {
  for (const HelloFields& fields : {plain(), of_rank()}) {
    const Bytes whole = encoded(fields);
    for (std::size_t length = 0; length < whole.size(); ++length)
      BOOST_TEST(error_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}) == EPROTO,
                 length);
    for (std::size_t at = 0; at < kMagic.size(); ++at) BOOST_TEST(error_with(whole, at, 0) == EPROTO, at);
  }
}

BOOST_AUTO_TEST_CASE(versions_upside_down_are_malformed) {
  const Bytes whole = encoded(plain());
  BOOST_TEST(error_with(whole, kHelloVersionMinOffset, 0) == EPROTO);
  BOOST_TEST(error_with(whole, kHelloVersionMaxOffset, 0) == EPROTO);
  BOOST_TEST(error_with(encoded(of_rank()), kHelloVersionMinOffset, kTaggedVersionMax) == 0);
}

BOOST_AUTO_TEST_CASE(a_peer_of_later_versions_alone_may_say_what_it_likes) {
  Bytes later = encoded(plain());
  later[kHelloVersionMinOffset] = later[kHelloVersionMaxOffset] = std::byte{kVersionMax + 1};
  later[kHelloReserved1Offset] = std::byte{9};
  BOOST_TEST(error_without(later, kHelloSendCreditsOffset, 4) == 0);
  // One that speaks ours too has to keep to it, but for what follows.
  Bytes both = encoded(plain());
  both[kHelloVersionMaxOffset] = std::byte{kVersionMax + 1};
  BOOST_TEST(error_without(both, kHelloSendCreditsOffset, 2) == EPROTO);
  both.push_back(std::byte{9});
  BOOST_TEST(error_of(both) == 0);
}

BOOST_AUTO_TEST_CASE(credits_and_read_depth_are_not_zero) {
  const Bytes whole = encoded(plain());
  BOOST_TEST(error_without(whole, kHelloSendCreditsOffset, 2) == EPROTO);
  BOOST_TEST(error_without(whole, kHelloReceiveCreditsOffset, 2) == EPROTO);
  BOOST_TEST(error_without(whole, kHelloReadDepthOffset, 2) == EPROTO);
  BOOST_TEST(error_without(whole, kHelloSmallBytesOffset, 4) == 0);
}

BOOST_AUTO_TEST_CASE(reserved_bytes_and_padding_are_zero) {
  Bytes whole = encoded(plain());
  for (const std::size_t at : {kHelloReserved1Offset, kHelloReserved2Offset, kHelloReserved2Offset + 1})
    BOOST_TEST(error_with(whole, at, 1) == EPROTO, at);
  whole.resize(56);
  BOOST_TEST(error_of(whole) == 0);
  for (const std::size_t at : {kHelloBytes, std::size_t{55}})
    BOOST_TEST(error_with(whole, at, 1) == EPROTO, at);
  Bytes rank = encoded(of_rank());
  BOOST_TEST(error_with(rank, kHelloReserved3Offset, 1) == EPROTO);
  rank.resize(56);
  BOOST_TEST(error_of(rank) == 0);
  BOOST_TEST(error_with(rank, kTaggedHelloBytes, 1) == EPROTO);
}

BOOST_AUTO_TEST_CASE(an_introduction_of_the_first_version_has_no_size_of_the_job) {
  HelloFields fields = of_rank();
  fields.version_max = 1;
  fields.introduction.job_size = 0;
  Bytes whole = encoded(fields);
  BOOST_TEST(error_of(whole) == 0);
  BOOST_TEST(decode_hello(whole)->introduction.job_size == 0U);
  for (const std::size_t at : {kHelloReserved1Offset, kHelloReserved2Offset, kHelloReserved2Offset + 1})
    BOOST_TEST(error_with(whole, at, 1) == EPROTO, at);
}

BOOST_AUTO_TEST_CASE(an_introduction_says_one_of_two_ways_who_it_is) {
  const Bytes whole = encoded(of_id());
  BOOST_TEST(error_with(whole, kHelloByIdOffset, 2) == EPROTO);
  BOOST_TEST(error_without(whole, kHelloFromOffset, 8) == EPROTO);
  BOOST_TEST(error_without(encoded(of_rank()), kHelloFromOffset, 8) == 0);
}

BOOST_AUTO_TEST_CASE(the_limits_of_an_introduction_are_within_range) {
  const Bytes whole = encoded(of_rank());
  for (const unsigned good : {10U, 30U}) BOOST_TEST(error_with(whole, kHelloEagerOffset, good) == 0, good);
  for (const unsigned wrong : {0U, 9U, 31U, 255U})
    BOOST_TEST(error_with(whole, kHelloEagerOffset, wrong) == EPROTO, wrong);
  for (const unsigned good : {0U, 20U}) BOOST_TEST(error_with(whole, kHelloAdvertsOffset, good) == 0, good);
  for (const unsigned wrong : {21U, 255U})
    BOOST_TEST(error_with(whole, kHelloAdvertsOffset, wrong) == EPROTO, wrong);
}

BOOST_AUTO_TEST_CASE(a_rejection_comes_back_with_its_reason_and_sizes) {
  for (unsigned reason = 1; reason <= static_cast<unsigned>(RejectReason::kJobSize); ++reason) {
    std::array<std::byte, kRejectBytes> bytes{};
    encode_rejection(static_cast<RejectReason>(reason), bytes);
    const auto decoded = decode_rejection(bytes);
    BOOST_REQUIRE(decoded.has_value());
    BOOST_TEST(static_cast<unsigned>(*decoded) == reason);
    BOOST_TEST(!decode_rejection(std::span(bytes).first(kRejectBytes - 1)).has_value());
    bytes[0] = std::byte{0};
    BOOST_TEST(!decode_rejection(bytes).has_value());
  }
  for (const unsigned wrong : {0U, static_cast<unsigned>(RejectReason::kJobSize) + 1}) {
    std::array<std::byte, kRejectBytes> bytes{};
    encode_rejection(static_cast<RejectReason>(wrong), bytes);
    BOOST_TEST(!decode_rejection(bytes).has_value());
  }
  std::array<std::byte, kRejectSizesBytes> sizes{};
  encode_job_sizes({.own = 0x61626364, .told = 0x65666768}, sizes);
  BOOST_TEST(decode_job_sizes(sizes).own == 0x61626364U);
  BOOST_TEST(decode_job_sizes(sizes).told == 0x65666768U);
  BOOST_TEST(decode_job_sizes(std::span(sizes).first(kRejectSizesBytes - 1)).own == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::wire
