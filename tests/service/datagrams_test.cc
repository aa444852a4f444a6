// What is said by multicast: the bytes of FORMAT.md, and what bytes of strangers can do.
// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/answer_rate.h"
#include "service/names/datagram.h"
#include "service/names/multicast_setting.h"
#include "tests/service/frame_layout.h"

namespace exs::svc {
namespace datagrams_test {

using namespace exs::svc::test;
using exs::test::draw;
using exs::test::draw_bytes;
using exs::test::draw_index;

DatagramNonce sample_nonce() {
  DatagramNonce nonce;
  fill_from(nonce, counting(0x30, nonce.size()));
  return nonce;
}

Record sample_record(const Key& key, std::size_t addresses = 1) {
  return {key.public_key(), 7, 9, std::vector<sockaddr_storage>(addresses, *parse_address("[fd00::1]:7000"))};
}

FrameBytes sealed_sample(const Key& key, DatagramType type = DatagramType::kAnswer) {
  return encode_sealed(type, key.id(), sample_nonce(), encode_record(sample_record(key), key));
}

bool opens(const FrameBytes& bytes, const IdBytes& id) {
  const AloneFrame alone(bytes);
  const std::optional<Datagram> datagram = decode_datagram(alone.bytes());
  return datagram && open_record(*datagram, id).has_value();
}

FrameBytes bytes_of_name(const IdBytes& id) {
  const PublicName name = public_name(id);
  return {name.begin(), name.end()};
}

// As FORMAT.md says, with nothing of ours but the hash.
FrameBytes opened_by_hand(const FrameBytes& datagram, const IdBytes& id) {
  const auto key = Hash<32>("exs-svc seal").add(id).end();
  FrameBytes record(datagram.size() - 80);
  BOOST_REQUIRE(crypto_aead_xchacha20poly1305_ietf_decrypt(record.data(), nullptr, nullptr, &datagram[64],
                                                           datagram.size() - 64, datagram.data(), 40,
                                                           &datagram[40], key.data()) == 0);
  return record;
}

}  // namespace datagrams_test

BOOST_AUTO_TEST_SUITE(datagrams_test, *boost::unit_test::fixture<exs::test::PropertyDefaults>())

BOOST_AUTO_TEST_CASE(a_query_has_its_bytes_where_the_format_says) {
  const Key key;
  expect_layout(encode_query(public_name(key.id()), sample_nonce()), {{0, {'E', 'X', 'S', 'M'}},
                                                                      {4, {1, 1}},
                                                                      {6, kZero2},
                                                                      {8, bytes_of_name(key.id())},
                                                                      {24, counting(0x30, 16)},
                                                                      {40, FrameBytes(230)}});
}

BOOST_AUTO_TEST_CASE(an_answer_has_its_bytes_where_the_format_says) {
  const Key key;
  const FrameBytes record = encode_record(sample_record(key), key);
  for (const auto type : {DatagramType::kAnswer, DatagramType::kAnnouncement}) {
    const FrameBytes datagram = encode_sealed(type, key.id(), sample_nonce(), record);
    expect_layout(FrameBytes(datagram.begin(), datagram.begin() + 40),
                  {{0, {'E', 'X', 'S', 'M'}},
                   {4, {static_cast<std::uint8_t>(type), 1}},
                   {6, kZero2},
                   {8, bytes_of_name(key.id())},
                   {24, counting(0x30, 16)}});
    BOOST_TEST(opened_by_hand(datagram, key.id()) == record, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(no_answer_is_longer_than_its_query) {
  const Key key;
  const FrameBytes query = encode_query(public_name(key.id()), sample_nonce());
  const FrameBytes longest = encode_record(sample_record(key, kAddressesMax), key);
  BOOST_TEST(encode_sealed(DatagramType::kAnswer, key.id(), sample_nonce(), longest).size() == query.size());
}

BOOST_AUTO_TEST_CASE(a_record_opens_for_those_who_know_the_id) {
  const Key key;
  const Key other;
  const FrameBytes datagram = sealed_sample(key);
  const std::optional<Datagram> decoded = decode_datagram(datagram);
  BOOST_REQUIRE(decoded.has_value());
  const std::optional<OpenedRecord> opened = open_record(*decoded, key.id());
  BOOST_REQUIRE(opened.has_value());
  BOOST_TEST(opened->record.epoch == 7U);
  BOOST_TEST(opened->bytes == encode_record(sample_record(key), key), boost::test_tools::per_element());
  BOOST_TEST(!opens(datagram, other.id()));
  // Expect: no two are sealed alike, though they say the same.
  BOOST_TEST(sealed_sample(key) != datagram);
  BOOST_TEST(!opens(encode_query(public_name(key.id()), sample_nonce()), key.id()));
}

BOOST_AUTO_TEST_CASE(who_knows_the_id_and_not_the_key_makes_no_record) {
  const Key key;
  const Key other;
  const auto sealed = [&](const FrameBytes& record) {
    return encode_sealed(DatagramType::kAnswer, key.id(), sample_nonce(), record);
  };
  BOOST_TEST(opens(sealed(encode_record(sample_record(key), key)), key.id()));
  BOOST_TEST(!opens(sealed(encode_record(sample_record(other), other)), key.id()));
  BOOST_TEST(!opens(sealed(encode_record(sample_record(key), other)), key.id()));
  BOOST_TEST(!opens(sealed({}), key.id()));
  BOOST_TEST(!opens(sealed(counting(1, kRecordMax)), key.id()));
}

BOOST_AUTO_TEST_CASE(a_datagram_with_any_bit_changed_opens_for_nobody) {
  const Key key;
  const FrameBytes good = sealed_sample(key);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    FrameBytes changed = good;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    BOOST_TEST(!opens(changed, key.id()), "bit " << bit);
  }
  FrameBytes query = encode_query(public_name(key.id()), sample_nonce());
  for (std::size_t at = 0; at < query.size(); ++at) {
    if (at >= 8 && at < kSealedAt) continue;  // name and nonce are any
    query[at] ^= 8;
    BOOST_TEST(!decode_datagram(query).has_value(), "byte " << at);
    query[at] ^= 8;
  }
}

BOOST_AUTO_TEST_CASE(a_datagram_cut_anywhere_or_longer_is_none) {
  const Key key;
  const FrameBytes query = encode_query(public_name(key.id()), sample_nonce());
  FrameBytes answer = sealed_sample(key);
  for (std::size_t length = 0; length < query.size(); ++length) {
    const AloneFrame cut(Bytes(query).first(length));
    BOOST_TEST(!decode_datagram(cut.bytes()).has_value(), length);
    if (length < answer.size())
      BOOST_TEST(!opens({answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(length)}, key.id()),
                 length);
  }
  FrameBytes longer = query;
  longer.push_back(0);
  BOOST_TEST(!decode_datagram(longer).has_value());
  answer.push_back(0);
  BOOST_TEST(!opens(answer, key.id()));
}

BOOST_AUTO_TEST_CASE(bytes_of_anybody_open_for_nobody) {
  const Key key;
  BOOST_TEST(exs::test::holds("hostile datagrams", [&] {
    FrameBytes bytes =
        sealed_sample(key, exs::test::draw_bool() ? DatagramType::kAnswer : DatagramType::kAnnouncement);
    const FrameBytes before = bytes;
    for (std::size_t changes = draw_index(4); changes-- > 0;)
      bytes[draw_index(bytes.size())] = draw<std::uint8_t>();
    if (exs::test::draw_bool()) bytes.resize(draw<std::size_t>(0, 2 * kDatagramMax));
    EXS_HOLD(opens(bytes, key.id()) == (bytes == before));
    EXS_HOLD(!decode_datagram(draw_bytes()).has_value());
  }));
}

// ---------------------------------------------------------------- how many answers

BOOST_AUTO_TEST_CASE(a_source_has_twenty_answers_a_second) {
  AnswerRate rate;
  const sockaddr_storage one = *parse_address("192.0.2.1:1");
  const sockaddr_storage other = *parse_address("192.0.2.2:1");
  std::uint64_t now = 1;
  for (int i = 0; i < 20; ++i) BOOST_TEST(rate.allows(one, now));
  BOOST_TEST(!rate.allows(one, now));
  // Expect: another port is the same source, and another host is another.
  BOOST_TEST(!rate.allows(*parse_address("192.0.2.1:2"), now));
  BOOST_TEST(rate.allows(other, now));
  int answers = 0;
  for (int i = 0; i < 10'000; ++i) answers += rate.allows(one, now += kNsPerMs) ? 1 : 0;
  BOOST_TEST(answers == 200);
}

BOOST_AUTO_TEST_CASE(all_sources_have_a_thousand_answers_a_second_and_little_memory) {
  AnswerRate rate;
  sockaddr_storage source = *parse_address("[fd00::1]:1");
  auto& host = reinterpret_cast<sockaddr_in6&>(source).sin6_addr;
  int answers = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) {  // in ten seconds
    std::memcpy(&host.s6_addr[8], &i, sizeof i);
    answers += rate.allows(source, 1 + std::uint64_t{i} * kNsPerMs / 10) ? 1 : 0;
    BOOST_REQUIRE(rate.sources() <= AnswerRate::kSourcesMax);
  }
  BOOST_TEST(answers >= 10'000);
  BOOST_TEST(answers <= 11'000);
}

// ---------------------------------------------------------------- where

BOOST_AUTO_TEST_CASE(a_setting_names_interfaces_and_a_port) {
  BOOST_TEST(!parse_multicast("off")->is_on);
  BOOST_TEST((*parse_multicast("") == MulticastSetting{true, {}, 17752}));
  BOOST_TEST((*parse_multicast(":7") == MulticastSetting{true, {}, 7}));
  BOOST_TEST((*parse_multicast("eth0") == MulticastSetting{true, {"eth0"}, 17752}));
  BOOST_TEST((*parse_multicast("eth0,lo:65535") == MulticastSetting{true, {"eth0", "lo"}, 65535}));
  for (const char* const text :
       {":", ":0", ":65536", ":x", "eth0:", "eth0:1:2", ",", "eth0,", ",eth0", "a,,b",
        "an-interface-too-long", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"})
    BOOST_TEST(!parse_multicast(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(loopback_is_an_interface_only_by_its_name) {
  BOOST_REQUIRE(interfaces_of(*parse_multicast("lo")).size() == 1U);
  BOOST_TEST(interfaces_of(*parse_multicast("lo")).front().is_loopback);
  for (const Interface& one : interfaces_of(*parse_multicast(""))) BOOST_TEST(!one.is_loopback);
  BOOST_TEST(interfaces_of(*parse_multicast("no-such-one")).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
