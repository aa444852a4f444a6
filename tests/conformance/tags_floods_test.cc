// Messages with tags that come faster than they are received: what a process keeps of them has a bound, and yet each receive and each probe
// finds its message, however many lie before it. Holds for every provider.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/msg.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/exs_fixture.h"
#include "tests/support/job.h"

namespace exs::test {
namespace tags_floods_test {

constexpr std::int64_t kWaitNs = std::int64_t{kHangLimitSeconds} * 1'000'000'000;
constexpr int kPeers = 1 << 16;     // among whom the memory for unexpected messages is shared
constexpr unsigned kKeptMax = 768;  // of each, then: 512 short messages in 64 KiB, and 256 adverts
constexpr std::uint64_t kMessages = 3'000;
constexpr std::uint64_t kAll = UINT64_MAX;

exm_ep_t open_with_small_shares(const HeldPort& port) {
  const std::string text = address_text(port.address());
  const char* const address = text.c_str();
  exm_config_t config{};
  config.struct_bytes = sizeof config;
  config.addresses = &address;
  config.size = kPeers;
  exm_ep_t made = nullptr;
  BOOST_REQUIRE_EQUAL(exm_open(&config, &made), 0);
  return made;
}

struct Flooded {
  HeldPort port_a, port_b;
  exm_ep_t a = open_with_small_shares(port_a);
  exm_ep_t b = open_with_small_shares(port_b);
  int b_at_a = -1;
  std::vector<std::uint8_t> sent;
  std::size_t ends = 0;  // of sends

  Flooded() {
    std::array<std::uint8_t, EXM_NAME_BYTES> name{};
    std::size_t length = name.size();
    BOOST_REQUIRE_EQUAL(exm_name(b, name.data(), &length), 0);
    BOOST_REQUIRE_EQUAL(exm_peer(a, name.data(), length, &b_at_a), 0);
  }
  ~Flooded() {
    exm_finalize(a);
    exm_finalize(b);
  }

  void send(std::uint64_t match) {
    const exs_iovec_t piece{sent.data(), sent.size(), EXS_MHANDLE_UNREGISTERED, 0};
    exm_request_t request = 0;
    BOOST_REQUIRE_EQUAL(exm_tsend(a, &piece, 1, b_at_a, match, ~match, EXM_DATA, nullptr, &request), 0);
    if (request == 0) ++ends;
  }
  // Each has its number as its bits.
  void flood(std::size_t bytes, std::uint64_t first = 0) {
    sent.assign(bytes, 0x5a);
    for (std::uint64_t match = first; match < first + kMessages; ++match) send(match);
  }
  // While nothing was received yet.
  void expect_bound() const {
    exm_stats_t stats{};
    BOOST_REQUIRE_EQUAL(exm_stats(b, &stats), 0);
    BOOST_TEST(stats.unexpected <= kKeptMax);
  }
  void expect_ends(std::size_t count) {
    while (ends < count) {
      exm_completion_t end{};
      BOOST_REQUIRE_EQUAL(exm_tpoll(a, &end, 1, kWaitNs), 1);
      BOOST_REQUIRE_EQUAL(end.error, 0);
      ++ends;
    }
  }
  void post(std::vector<std::uint8_t>& into, std::uint64_t match, std::uint64_t ignore = 0) const {
    into.assign(sent.size(), 0);
    const exs_iovec_t piece{into.data(), into.size(), EXS_MHANDLE_UNREGISTERED, 0};
    exm_request_t request = 0;
    BOOST_REQUIRE_EQUAL(exm_trecv(b, &piece, 1, EXM_ANY_SOURCE, match, ignore, nullptr, &request), 0);
  }
  exm_completion_t await(const std::vector<std::uint8_t>& got) const {
    exm_completion_t end{};
    BOOST_REQUIRE_EQUAL(exm_tpoll(b, &end, 1, kWaitNs), 1);
    BOOST_REQUIRE_EQUAL(end.error, 0);
    BOOST_REQUIRE_EQUAL(end.length, sent.size());
    BOOST_REQUIRE_EQUAL(end.data, ~end.match);
    BOOST_REQUIRE((got == sent));
    return end;
  }
  std::uint64_t receive(std::uint64_t match, std::uint64_t ignore = 0) const {
    std::vector<std::uint8_t> got;
    post(got, match, ignore);
    return await(got).match;
  }
};

}  // namespace tags_floods_test

BOOST_FIXTURE_TEST_SUITE(tags_floods_test, Flooded)

BOOST_AUTO_TEST_CASE(the_last_message_is_received_first) {
  for (const std::size_t bytes : {0UL, 8UL, 2'000UL, 50'000UL}) {
    BOOST_TEST_CONTEXT(bytes << " bytes") {
      ends = 0;
      flood(bytes);
      if (bytes == 0) expect_bound();
      for (std::uint64_t match = kMessages; match-- > 0;) BOOST_REQUIRE_EQUAL(receive(match), match);
      expect_ends(kMessages);
    }
  }
}

BOOST_AUTO_TEST_CASE(messages_are_received_in_their_order_from_the_middle_on) {
  flood(100);
  constexpr std::uint64_t kMiddle = kMessages / 2;
  BOOST_REQUIRE_EQUAL(receive(kMiddle), kMiddle);
  for (std::uint64_t match = 0; match < kMessages; ++match) {
    if (match != kMiddle) BOOST_REQUIRE_EQUAL(receive(0, kAll), match);
  }
  expect_ends(kMessages);
}

// Many at once, of which none covers the others.
BOOST_AUTO_TEST_CASE(receives_that_wait_find_what_is_sent_behind_a_flood) {
  std::vector<std::vector<std::uint8_t>> got(50);
  sent.assign(300, 0x5a);
  for (std::size_t i = 0; i < got.size(); ++i) post(got[i], kMessages + 7 * i);
  flood(300);
  flood(300, kMessages);
  for (std::size_t i = 0; i < got.size(); ++i) {
    exm_completion_t end{};
    BOOST_REQUIRE_EQUAL(exm_tpoll(b, &end, 1, kWaitNs), 1);
    BOOST_TEST(end.match == kMessages + 7 * i);
    BOOST_TEST(end.error == 0);
  }
  for (const auto& each : got) BOOST_TEST((each == sent));
  for (std::uint64_t left = 2 * kMessages - got.size(); left > 0; --left) receive(0, kAll);
  expect_ends(2 * kMessages);
}

BOOST_AUTO_TEST_CASE(a_probe_finds_what_lies_behind_a_flood) {
  flood(8);
  exm_message_t message = 0;
  exm_completion_t found{};
  int is_there = 0;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(kHangLimitSeconds);
  while (is_there == 0 && std::chrono::steady_clock::now() < limit)
    is_there = exm_tprobe(b, EXM_ANY_SOURCE, kMessages - 1, 0, &message, &found);
  BOOST_REQUIRE_EQUAL(is_there, 1);
  BOOST_TEST(found.match == kMessages - 1);
  BOOST_TEST(found.length == sent.size());
  std::vector<std::uint8_t> got(sent.size());
  const exs_iovec_t piece{got.data(), got.size(), EXS_MHANDLE_UNREGISTERED, 0};
  exm_request_t request = 0;
  BOOST_REQUIRE_EQUAL(exm_tmrecv(b, &piece, 1, &message, nullptr, &request), 0);
  await(got);
  for (std::uint64_t match = 0; match + 1 < kMessages; ++match) BOOST_REQUIRE_EQUAL(receive(0, kAll), match);
  expect_ends(kMessages);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
