// What the ends say of providers behind the hello: there and back, cut, padded, and by an older version.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "src/wire/paths.h"
#include "tests/support/property.h"

using namespace exs;
using namespace exs::wire;
using exs::test::PropertyDefaults;

namespace paths_test {

using Bytes = std::vector<std::byte>;

Bytes private_data(const PathsBytes& block) {
  const auto view = block.view();
  Bytes data(kPathsOffset + view.size());
  std::copy(view.begin(), view.end(), data.begin() + kPathsOffset);
  return data;
}

Bytes words_of(std::size_t length) {
  return Bytes(length, std::byte{0x5a});
}

PathsRequest sample(const Bytes& words) {
  return {.allowed = 0x0f, .preferred = 2, .shm_reason = 16, .words = words, .device_reason = 50};
}

int request_error(const Bytes& data) {
  const auto decoded = decode_paths_request(data);
  return decoded ? 0 : decoded.error().error();
}

}  // namespace paths_test

BOOST_AUTO_TEST_SUITE(paths_test, *boost::unit_test::fixture<PropertyDefaults>())

BOOST_AUTO_TEST_CASE(requests_and_replies_come_back_as_they_were) {
  BOOST_TEST(exs::test::holds("requests", [] {
    const Bytes words = words_of(exs::test::draw<std::size_t>(0, kPathsWordsBytesMax + 1));
    const PathsRequest request{.allowed = exs::test::draw<std::uint8_t>(),
                               .preferred = exs::test::draw<std::uint8_t>(),
                               .shm_reason = exs::test::draw<std::uint8_t>(),
                               .words = words,
                               .device_reason = exs::test::draw<std::uint8_t>()};
    Bytes data = private_data(encode(request));
    data.resize(data.size() + exs::test::draw<std::size_t>(0, 64));  // padding
    const auto back = decode_paths_request(data);
    EXS_HOLD(back.has_value());
    EXS_HOLD(back->allowed == request.allowed && back->preferred == request.preferred);
    EXS_HOLD(back->shm_reason == request.shm_reason && back->device_reason == request.device_reason);
    EXS_HOLD(std::equal(back->words.begin(), back->words.end(), words.begin(), words.end()));
  }));
  BOOST_TEST(exs::test::holds("replies", [] {
    const std::string fact(exs::test::draw<std::size_t>(0, 2 * kPathsFactBytesMax), 'f');
    const PathsReply reply{.chosen = exs::test::draw<std::uint8_t>(),
                           .refused = exs::test::draw<std::uint8_t>(),
                           .reason = exs::test::draw<std::uint8_t>(),
                           .fact = fact,
                           .device_reason = exs::test::draw<std::uint8_t>()};
    const Bytes data = private_data(encode(reply));
    const auto back = decode_paths_reply(data);
    EXS_HOLD(back.has_value());
    EXS_HOLD(back->chosen == reply.chosen && back->refused == reply.refused);
    EXS_HOLD(back->reason == reply.reason && back->device_reason == reply.device_reason);
    EXS_HOLD(back->fact == fact.substr(0, kPathsFactBytesMax));
  }));
}

BOOST_AUTO_TEST_CASE(an_older_version_says_nothing_of_devices) {
  const Bytes words = words_of(20);
  Bytes data = private_data(encode(sample(words)));
  data.pop_back();
  const auto request = decode_paths_request(data);
  BOOST_REQUIRE(request.has_value());
  BOOST_TEST(request->device_reason == 0);
  BOOST_TEST(request->words.size() == words.size());
}

BOOST_AUTO_TEST_CASE(zeros_and_nothing_are_no_block) {
  for (const std::size_t length : {0U, 20U, 48U, 49U, 56U, 196U})
    BOOST_TEST(request_error(Bytes(length)) == ENOMSG);
}

BOOST_AUTO_TEST_CASE(a_block_cut_or_spoilt_is_malformed) {
  const Bytes words = words_of(20);
  const Bytes whole = private_data(encode(sample(words)));
  for (std::size_t length = kPathsOffset + 1; length < whole.size() - 1; ++length)
    BOOST_TEST(request_error(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))) ==
               EPROTO);
  const auto with = [&](std::size_t offset, unsigned value) {
    Bytes data = whole;
    data[kPathsOffset + offset] = static_cast<std::byte>(value);
    return request_error(data);
  };
  BOOST_TEST(with(0, 2) == EPROTO);  // a reply
  BOOST_TEST(with(0, 3) == EPROTO);
  BOOST_TEST(with(1, 1) == EPROTO);
  BOOST_TEST(with(5, 22) == EPROTO);  // longer than what is there
  BOOST_TEST(with(5, 129) == EPROTO);
}

BOOST_AUTO_TEST_CASE(a_reply_that_is_none_or_spoilt_is_refused) {
  const auto error_of = [](const Bytes& data) {
    const auto decoded = decode_paths_reply(data);
    return decoded ? 0 : decoded.error().error();
  };
  const Bytes whole = private_data(encode(PathsReply{.chosen = 1, .refused = 2, .reason = 3, .fact = "why"}));
  BOOST_TEST(error_of(whole) == 0);
  BOOST_TEST(error_of(Bytes(48)) == ENOMSG);
  BOOST_TEST(error_of(private_data(encode(sample(words_of(20))))) == EPROTO);  // a request
  for (std::size_t length = kPathsOffset + 1; length < whole.size() - 1; ++length)
    BOOST_TEST(error_of(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))) == EPROTO);
}

BOOST_AUTO_TEST_SUITE_END()
