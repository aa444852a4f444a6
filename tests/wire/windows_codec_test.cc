// Windows in messages: none wraps around the address space, wherever it stands; and heads that are cut short.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/wire/codec.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace exs::wire {
namespace windows_codec_test {

using Bytes = std::vector<std::byte>;

// A message with these windows behind its fixed part.
Bytes with_windows(const Message& message, const std::vector<Advert>& windows) {
  FixedBytes fixed;
  const auto head = encode(message, fixed);
  Bytes bytes(head.size() + windows.size() * kListEntryBytes);
  std::copy(head.begin(), head.end(), bytes.begin());
  const std::span<std::byte> list = std::span(bytes).subspan(head.size());
  for (std::size_t i = 0; i < windows.size(); ++i) encode_list_entry(windows[i], list, i);
  return bytes;
}

int error_of(const Message& message, const std::vector<Advert>& windows) {
  const auto decoded = decode(with_windows(message, windows));
  return decoded ? 0 : decoded.error().error();
}

Message of(MessageType type, std::uint8_t flags = 0) {
  Message message;
  message.header = {type, flags, 1, 7};
  message.advert = {100, 200, 3};
  message.label = {1, 0, 3, type == MessageType::kTagged ? 0U : 4U};
  return message;
}

constexpr Advert kGood{100, 200, 3};
constexpr Advert kToTheEnd{UINT64_MAX - 4, 4, 3};
constexpr Advert kWraps{UINT64_MAX - 4, 5, 3};

}  // namespace windows_codec_test

BOOST_AUTO_TEST_SUITE(windows_codec_test)

BOOST_AUTO_TEST_CASE(no_window_of_a_list_wraps_wherever_it_stands) {
  for (const Message& message :
       {of(MessageType::kTaggedAdvert), of(MessageType::kFetched), of(MessageType::kAdvert, kList)}) {
    BOOST_TEST(error_of(message, {kGood, kGood}) == 0);
    BOOST_TEST(error_of(message, {kToTheEnd, kGood}) == 0);
    BOOST_TEST(error_of(message, {kGood, kToTheEnd}) == 0);
    BOOST_TEST(error_of(message, {kWraps, kGood}) == EPROTO);
    BOOST_TEST(error_of(message, {kGood, kWraps}) == EPROTO);
    BOOST_TEST(error_of(message, {{100, 0, 3}, kGood}) == EPROTO);
    BOOST_TEST(error_of(message, {kGood, {100, 0, 3}}) == EPROTO);
    BOOST_TEST(error_of(message, {{0, UINT64_MAX, 3}, {0, 1, 3}}) == EPROTO);
  }
}

BOOST_AUTO_TEST_CASE(no_single_window_wraps) {
  for (const MessageType type : {MessageType::kAdvert, MessageType::kOffer}) {
    Message message = of(type);
    if (type == MessageType::kOffer) message.header.flags = 0;
    message.advert = kToTheEnd;
    BOOST_TEST(error_of(message, {}) == 0);
    message.advert = kWraps;
    BOOST_TEST(error_of(message, {}) == EPROTO);
  }
}

BOOST_AUTO_TEST_CASE(a_head_that_is_cut_short_is_not_read_beyond_its_end) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const mapped = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BOOST_REQUIRE(mapped != MAP_FAILED);
  auto* const end = static_cast<std::byte*>(mapped) + page;
  BOOST_REQUIRE(::mprotect(end, page, PROT_NONE) == 0);
  Message message = of(MessageType::kTagged);
  FixedBytes fixed;
  const auto head = encode(message, fixed);
  for (std::size_t length = 0; length < head.size(); ++length) {
    std::memcpy(end - length, head.data(), length);
    TaggedHead decoded;
    BOOST_TEST(!decode_tagged({end - length, length}, decoded), length);
  }
  ::munmap(mapped, 2 * page);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::wire
