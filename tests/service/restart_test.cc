// A service that is killed while messages are on their way to it, and starts again: what its sender is told of.
// SPDX-License-Identifier: BSD-2-Clause
#include <optional>
#include <random>

#include "tests/service/victim.h"

namespace exs::svc {
namespace restart_test {

using namespace exs::svc::test;

struct Killed : Survivor {
  Number sent = 0;
  std::uint64_t told = 0;
  int pongs = 0;

  void send_what_fits(Number most) {
    while (sent < most) {
      exs_svc_item_t item{&sent, sizeof sent};
      if (exs_svc_send_short(peer, &item, 1) != 0) break;
      ++sent;
    }
  }
  void take_events() {
    node.step();
    for (const exs_svc_event_t& event : node.events) {
      if (event.type == EXS_SVC_EVT_PONG) ++pongs;
      if (event.type == EXS_SVC_EVT_PONG) continue;
      BOOST_REQUIRE(event.type == EXS_SVC_EVT_RESTART);
      told += event.count;
    }
    node.events.clear();
  }
  // All that was sent before is taken when this returns.
  void ping() {
    const int before = pongs;
    BOOST_TEST(exs_svc_ping(peer) == 0);
    for (int turn = 0; pongs == before; ++turn) {
      BOOST_REQUIRE(turn < kTurnsMax);
      take_events();
    }
  }
  // Until it has so many more.
  void serve(const Victim& victim, std::size_t more, Number most) {
    const std::size_t enough = ledger.size() + more;
    for (int turn = 0; ledger.size() < enough; ++turn) {
      BOOST_REQUIRE(turn < kTurnsMax);
      send_what_fits(most);
      take_events();
      victim.read_into(ledger);
    }
  }
};

}  // namespace restart_test

BOOST_FIXTURE_TEST_SUITE(restart_test, Killed)

// Everything has been taken, and its sender knows: nothing is lost by a kill.
BOOST_AUTO_TEST_CASE(what_was_taken_is_not_told_of) {
  for (int i = 0; i < 3; ++i) {
    Victim victim(program, folder.path());
    ping();  // now that it is there, nothing leaves for the one before
    serve(victim, 100, sent + 100);
    ping();
  }
  BOOST_TEST(ledger.size() == sent);
  BOOST_TEST(told == 0U);
}

BOOST_AUTO_TEST_CASE(what_had_left_and_was_not_taken_is_told_of) {
  std::optional<Victim> victim(std::in_place, program, folder.path());
  serve(*victim, 20, 20);
  ping();
  victim->stop();
  send_what_fits(sent + 10);
  victim.emplace(program, folder.path());
  // Expect: of these, and of no other; and they do not arrive.
  for (int turn = 0; told == 0; ++turn) {
    BOOST_REQUIRE(turn < kTurnsMax);
    take_events();
  }
  BOOST_TEST(told == 10U);
  serve(*victim, 5, sent + 5);
  BOOST_TEST(ledger.back() + 1 == sent);
  BOOST_TEST(ledger[20] == 30U);
}

// The service may have taken messages that it has not written yet: nobody can tell of those.
BOOST_AUTO_TEST_CASE(messages_arrive_in_order_and_none_twice_whenever_it_is_killed) {
  const int kills = kills_wanted(12);
  std::mt19937 random(7);  // NOLINT: the same each time
  for (int i = 0; i < kills; ++i) {
    Victim victim(program, folder.path());
    serve(victim, 1 + random() % 300, UINT32_MAX);
    victim.kill();
    victim.read_into(ledger);
  }
  const Number all = sent + 100;
  Victim last(program, folder.path());
  for (int turn = 0; ledger.empty() || ledger.back() + 1 < all; ++turn) {
    BOOST_REQUIRE(turn < kTurnsMax);
    send_what_fits(all);
    take_events();
    last.read_into(ledger);
  }
  // Expect: all that is missing was told of, or lay in a mailbox.
  for (std::size_t i = 1; i < ledger.size(); ++i) BOOST_REQUIRE(ledger[i - 1] < ledger[i]);
  constexpr std::uint64_t kUnwritten = 128;  // two turns of a node
  BOOST_TEST(all - ledger.size() <= told + kUnwritten * static_cast<std::uint64_t>(kills));
  BOOST_TEST(told <= std::uint64_t{64} * static_cast<std::uint64_t>(kills));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
