// A service whose process is stopped, as one that is starved for long: it is there, and nothing is lost.
// SPDX-License-Identifier: BSD-2-Clause
#include <optional>

#include "base/clock.h"
#include "service/names/patience.h"
#include "tests/service/victim.h"

namespace exs::svc {
namespace silence_test {

using namespace exs::svc::test;

constexpr std::int64_t kFindNs = 100 * kMs;
// All that a sender once had for a service that is silent was over by then.
constexpr std::int64_t kLongNs = 10 * kFindNs;

exs_svc_node_options_t impatient(std::int64_t find_ns) {
  exs_svc_node_options_t options{};
  options.find_ns = find_ns;
  options.silent_ns = kFindNs / 3;
  options.multicast = "off";
  return options;
}

struct Stopped {
  OwnedKey key = make_key();
  KeyFolder folder{key};
  const exs_svc_node_options_t options;
  TestNode node{&options};
  exs_svc_peer_t* peer = node.peer(key);
  Victim victim{std::getenv("EXS_SERVICE_PEER"), folder.path()};
  std::vector<Number> ledger;

  explicit Stopped(std::int64_t find_ns = kFindNs) : options(impatient(find_ns)) {
    const exs_svc_id_t id = id_of(key);
    exs_svc_place_t place{};
    place.struct_bytes = sizeof place;
    turn_until({&node}, [&] { return exs_svc_locate(&id, 60'000 * kMs, &place) == 0; });
  }
  exs_svc_event_t next(int type) { return next_event({&node}, node, type); }
  void open_flow() {
    BOOST_TEST(exs_svc_ping(peer) == 0);
    BOOST_TEST(next(EXS_SVC_EVT_PONG).error == 0);
  }
  void send_numbers(Number count) const {
    for (Number i = 0; i < count; ++i) {
      exs_svc_item_t item{&i, sizeof i};
      BOOST_TEST(exs_svc_send_short(peer, &item, 1) == 0);
    }
  }
  // Expect: nothing is told of meanwhile.
  void wait_long() {
    const std::uint64_t until_ns = limit_after(boottime_ns(), kLongNs);
    turn_until({&node}, [&] { return boottime_ns() >= until_ns || !node.events.empty(); });
    BOOST_TEST(node.events.empty());
  }
  void expect_numbers(Number count) {
    victim.go_on();
    turn_until({&node}, [&] {
      victim.read_into(ledger);
      return ledger.size() >= count || !node.events.empty();
    });
    BOOST_TEST(node.events.empty());
    for (Number i = 0; i < count; ++i) BOOST_TEST(ledger.at(i) == i);
  }
};

}  // namespace silence_test

BOOST_AUTO_TEST_SUITE(silence_test)

BOOST_FIXTURE_TEST_CASE(messages_wait_for_a_process_that_is_stopped, Stopped) {
  open_flow();
  victim.stop();
  send_numbers(5);
  wait_long();
  expect_numbers(5);
}

BOOST_FIXTURE_TEST_CASE(messages_wait_for_it_where_there_is_no_connection_yet, Stopped) {
  victim.stop();
  send_numbers(5);
  wait_long();
  expect_numbers(5);
}

// The time of each search is over before a thread can look.
BOOST_AUTO_TEST_CASE(a_search_looks_once_however_late_its_threads_are) {
  {
    Stopped world(1);
    world.victim.stop();
    world.send_numbers(5);
    world.wait_long();
    world.expect_numbers(5);
  }
  {
    Stopped world(1);
    world.victim.stop();
    BOOST_TEST(exs_svc_ping(world.peer) == 0);
    world.wait_long();
    world.victim.go_on();
    BOOST_TEST(world.next(EXS_SVC_EVT_PONG).error == 0);
  }
  Stopped world(1);
  world.victim.stop();
  exs_svc_request_options_t how{};
  how.struct_bytes = sizeof how;
  how.limit_ns = kLongNs;
  BOOST_TEST(request(world.peer, {"1234"}, nullptr, &how) == 0);
  BOOST_TEST(world.next(EXS_SVC_EVT_REPLY).error == ETIMEDOUT);
  BOOST_TEST(world.node.events.empty());
}

BOOST_FIXTURE_TEST_CASE(a_request_has_its_own_limit, Stopped) {
  open_flow();
  victim.stop();
  exs_svc_request_options_t how{};
  how.struct_bytes = sizeof how;
  how.limit_ns = kLongNs;
  const Number number = 7;
  BOOST_TEST(request(peer, {std::string(reinterpret_cast<const char*>(&number), sizeof number)}, nullptr,
                     &how) == 0);
  BOOST_TEST(next(EXS_SVC_EVT_REPLY).error == ETIMEDOUT);
  BOOST_TEST(node.events.empty());
  // Expect: the next one is answered, when it can be.
  BOOST_TEST(request(peer, {std::string(reinterpret_cast<const char*>(&number), sizeof number)}) == 0);
  victim.go_on();
  const exs_svc_event_t reply = next(EXS_SVC_EVT_REPLY);
  BOOST_TEST(reply.error == 0);
  exs_svc_release(reply.message);
}

BOOST_AUTO_TEST_CASE(messages_to_one_that_dies_while_it_is_stopped_are_lost) {
  for (const bool was_open : {true, false}) {
    Stopped world;
    if (was_open) world.open_flow();
    world.victim.stop();
    world.send_numbers(5);
    world.wait_long();
    world.victim.kill();
    const exs_svc_event_t lost = world.next(EXS_SVC_EVT_LOST);
    BOOST_TEST(lost.error == ENOENT);
    BOOST_TEST(lost.count == 5U);
  }
}

// ---------------------------------------------------------------- limits, by a clock of the test

BOOST_AUTO_TEST_CASE(a_limit_ends_when_it_is_looked_at_in_time) {
  Patience patience;
  patience.wait_for(100 * kNsPerMs, 1000 * kNsPerMs);
  for (std::int64_t ms = 1010; ms < 1100; ms += 10) {
    patience.look(ms * kNsPerMs, ms * kNsPerMs + kNsPerMs);
    BOOST_TEST(!patience.is_over(ms * kNsPerMs + kNsPerMs));
  }
  // Expect: not before a search, either.
  BOOST_TEST(patience.owes_search());
  BOOST_TEST(!patience.is_over(1100 * kNsPerMs));
  patience.note_search();
  BOOST_TEST(patience.is_over(1100 * kNsPerMs));
}

BOOST_AUTO_TEST_CASE(a_limit_does_not_count_time_in_which_nobody_could_look) {
  Patience patience;
  patience.wait_for(100 * kNsPerMs, 0);
  patience.note_search();
  patience.look(10 * kNsPerMs, 510 * kNsPerMs);  // half a second late
  BOOST_TEST(patience.limit_ns() == 600 * kNsPerMs);
  BOOST_TEST(!patience.is_over(510 * kNsPerMs));
  BOOST_TEST(patience.is_over(600 * kNsPerMs));
}

BOOST_AUTO_TEST_CASE(a_limit_begins_again_while_what_is_waited_for_is_there) {
  Patience patience;
  patience.wait_for(100 * kNsPerMs, 0);
  patience.is_there(90 * kNsPerMs);
  BOOST_TEST(!patience.is_over(190 * kNsPerMs));
  patience.note_search();
  BOOST_TEST(!patience.is_over(189 * kNsPerMs));
  BOOST_TEST(patience.is_over(190 * kNsPerMs));
  // Expect: without a limit there is none.
  patience.wait_until(kNeverNs, 0);
  patience.note_search();
  patience.is_there(kNsPerMs);
  patience.look(0, 1000 * kNsPerMs);
  BOOST_TEST(!patience.is_over(kNeverNs - 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
