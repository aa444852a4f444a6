// What strangers may have of a directory: renewals go before claims, and a host and a connection have a share of its processor.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/socket.h>

#include "service/names/directory_wire.h"
#include "tests/service/directory_world.h"
#include "tests/service/frame_layout.h"
#include "tools/directory/budget.h"
#include "tools/directory/server.h"

namespace exs::svc {
namespace directory_shares_test {

using namespace exs::svc::test;

constexpr std::size_t kConnections = 8;
constexpr std::size_t kClaimsOfEach = 40;

FrameBytes encoded(const DirectoryMessage& message) {
  FrameBytes bytes;
  append_directory(bytes, message);
  return bytes;
}

// A connection to it whose bytes the test says and counts.
class Stranger {
 public:
  explicit Stranger(DirectoryServer& server, const char* from = "127.0.0.1:0")
      : server_(server), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_storage own = *parse_address(from);
    BOOST_REQUIRE(::bind(socket_.get(), as_sockaddr(own), address_bytes(own)) == 0);
    BOOST_REQUIRE(::connect(socket_.get(), as_sockaddr(server.address()), address_bytes(server.address())) ==
                  0);
    say(encoded({.type = DirectoryType::kGreeting}));
    while (heard_.empty()) turn();
    nonce_ = decode_directory(heard_.front())->nonce;
    heard_.clear();
  }
  void say(const FrameBytes& bytes) const {
    BOOST_REQUIRE(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] FrameBytes claims(std::size_t count) const {
    FrameBytes all;
    for (std::size_t i = 0; i < count; ++i) {
      const Key key;
      const FrameBytes record = encode_record(record_of(key.public_key(), 5, 1), key);
      append_directory(all, {.type = DirectoryType::kClaim,
                             .number = 60'000,
                             .signature = key.sign(claim_statement(nonce_, record)),
                             .record = record});
    }
    return all;
  }
  void turn() {
    server_.turn(1);
    hear();
  }
  // Takes what has come.
  void hear() {
    std::array<std::uint8_t, 65'536> bytes;
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) in_.insert(in_.end(), bytes.begin(), bytes.begin() + count);
    for (;;) {
      const std::optional<std::size_t> length = directory_message_bytes(in_);
      BOOST_REQUIRE(length.has_value());
      if (*length == 0) return;
      heard_.emplace_back(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(*length));
      in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(*length));
    }
  }
  [[nodiscard]] std::vector<DirectoryType> types() const {
    std::vector<DirectoryType> types;
    for (const FrameBytes& message : heard_) types.push_back(decode_directory(message)->type);
    return types;
  }
  [[nodiscard]] std::size_t count(DirectoryType type) const {
    const std::vector<DirectoryType> all = types();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), type));
  }

 private:
  DirectoryServer& server_;
  UniqueFd socket_;
  Nonce nonce_{};
  FrameBytes in_;
  std::vector<FrameBytes> heard_;
};

struct Flooded {
  DirectoryServer server{*parse_address("127.0.0.1:0"), "", false};
  std::vector<std::unique_ptr<Stranger>> flood;

  Flooded() {
    for (std::size_t i = 0; i < kConnections; ++i) flood.push_back(std::make_unique<Stranger>(server));
    for (const auto& one : flood) one->say(one->claims(kClaimsOfEach));
  }
  [[nodiscard]] std::size_t claims_taken() const {
    std::size_t taken = 0;
    for (const auto& one : flood) {
      one->hear();
      taken += one->count(DirectoryType::kHeld);
    }
    return taken;
  }
};

}  // namespace directory_shares_test

BOOST_AUTO_TEST_SUITE(directory_shares_test)

BOOST_FIXTURE_TEST_CASE(renewals_go_before_claims, Flooded) {
  Stranger honest(server);
  BOOST_TEST(claims_taken() <= 2U * DirectoryServer::kClaimsInTurn * (kConnections + 2));
  const std::size_t before = claims_taken();
  honest.say(encoded({.type = DirectoryType::kRenew, .number = 1}));
  honest.turn();
  // Expect: the answer to the renewal, and few claims, in one turn.
  BOOST_TEST(honest.count(DirectoryType::kRenewed) == 1U);
  BOOST_TEST(claims_taken() - before <= static_cast<std::size_t>(DirectoryServer::kClaimsInTurn));
}

BOOST_FIXTURE_TEST_CASE(claims_of_another_host_have_their_turns, Flooded) {
  Stranger honest(server, "127.0.0.2:0");
  honest.say(honest.claims(1));
  for (int turn = 0; turn < 2 && honest.count(DirectoryType::kHeld) == 0; ++turn) honest.turn();
  BOOST_TEST(honest.count(DirectoryType::kHeld) == 1U);
  // Expect: nobody's claims are lost.
  for (int turn = 0; turn < kTurnsMax && claims_taken() < kConnections * kClaimsOfEach; ++turn)
    server.turn(1);
  BOOST_TEST(claims_taken() == kConnections * kClaimsOfEach);
}

// What is behind a claim waits with it, and a renewal is heard before.
BOOST_AUTO_TEST_CASE(what_a_connection_says_keeps_its_order_but_for_renewals) {
  DirectoryServer server(*parse_address("127.0.0.1:0"), "", false);
  Stranger one(server);
  FrameBytes all = one.claims(2 * DirectoryServer::kClaimsInTurn);
  append_directory(all, {.type = DirectoryType::kFind});
  append_directory(all, {.type = DirectoryType::kRenew, .number = 7});
  one.say(all);
  while (one.count(DirectoryType::kNobody) == 0) one.turn();
  std::vector<DirectoryType> expected(2 * DirectoryServer::kClaimsInTurn + 2, DirectoryType::kHeld);
  expected.front() = DirectoryType::kRenewed;
  expected.back() = DirectoryType::kNobody;
  BOOST_TEST((one.types() == expected));
}

// ---------------------------------------------------------------- shares, by a clock of the test

BOOST_AUTO_TEST_CASE(a_budget_is_a_burst_and_a_share) {
  Budget budget(25, 100);
  BOOST_TEST(budget.is_whole(1000));
  budget.spend(100, 1000);
  BOOST_TEST(budget.is_spent(1000));
  BOOST_TEST(!budget.is_spent(1001));
  BOOST_TEST(!budget.is_whole(1399));
  BOOST_TEST(budget.is_whole(1400));
  // Expect: who has spent more than he had pays it back, and who rests has no more than a burst.
  budget.spend(200, 2000);
  BOOST_TEST(budget.is_spent(2400));
  BOOST_TEST(!budget.is_spent(2404));
  BOOST_TEST(budget.is_whole(1'000'000));
  budget.spend(100, 1'000'000);
  BOOST_TEST(budget.is_spent(1'000'000));
}

BOOST_AUTO_TEST_CASE(over_a_long_time_nobody_has_more_than_his_share) {
  Budget budget(25, 250 * kNsPerMs);
  std::uint64_t used_ns = 0;
  constexpr std::uint64_t kStepNs = 100'000;
  constexpr std::uint64_t kAllNs = 60'000 * kNsPerMs;
  for (std::uint64_t now = 0; now < kAllNs; now += kStepNs) {
    if (budget.is_spent(now)) continue;
    budget.spend(kStepNs, now);
    used_ns += kStepNs;
  }
  BOOST_TEST(used_ns <= kAllNs / 4 + 250 * kNsPerMs + kStepNs);
  BOOST_TEST(used_ns >= kAllNs / 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
