// Who may do what: capabilities, and what is made of those that are not right.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/service/world.h"

namespace exs::svc {
namespace rights_test {

using namespace exs::svc::test;

struct Guarded {
  TestNode left;
  TestNode right;
  OwnedKey key = make_key();
  exs_svc_options_t options{sizeof(exs_svc_options_t), 1, 5, 0, 0, 0, 0, 0};
  exs_svc_t* service = right.open(key, &options);
  const std::vector<TestNode*> both{&left, &right};

  exs_svc_cap_t make(std::uint32_t rights, std::uint32_t serial = 5, std::int64_t expires_ms = 0) {
    exs_svc_cap_t cap{};
    BOOST_REQUIRE(exs_svc_cap_make(key.get(), rights, serial, expires_ms, &cap) == 0);
    return cap;
  }
  // 0: it arrived. Otherwise the error of what was told instead.
  int outcome(const exs_svc_cap_t* cap) {
    exs_svc_peer_t* const peer = left.peer(key, nullptr, cap);
    BOOST_TEST(send(peer, {"x"}) == 0);
    int error = 0;
    turn_until(both, [&] {
      if (count_events(right, EXS_SVC_EVT_MESSAGE) > 0) {
        next_text(both, right);
        return true;
      }
      if (left.events.empty()) return false;
      error = left.events.front().error;
      left.events.pop_front();
      return true;
    });
    exs_svc_peer_close(peer);
    return error;
  }
};

}  // namespace rights_test

BOOST_FIXTURE_TEST_SUITE(rights_test, Guarded)

// shows: EXS_SVC_EVT_LOST EACCES
BOOST_AUTO_TEST_CASE(nobody_sends_without_a_capability) {
  BOOST_TEST(outcome(nullptr) == EACCES);
}

BOOST_AUTO_TEST_CASE(a_capability_lets_its_holder_send) {
  const exs_svc_cap_t cap = make(EXS_SVC_SEND);
  BOOST_TEST(outcome(&cap) == 0);
  char text[EXS_SVC_CAP_TEXT];
  exs_svc_cap_t parsed{};
  BOOST_TEST(exs_svc_cap_text(&cap, text) == 0);
  BOOST_TEST(exs_svc_cap_parse(text, &parsed) == 0);
  BOOST_TEST(outcome(&parsed) == 0);
}

BOOST_AUTO_TEST_CASE(a_capability_that_was_changed_is_worth_nothing) {
  const exs_svc_cap_t good = make(EXS_SVC_STATS, 7, 4'000'000'000'000);
  exs_svc_cap_t cap = good;
  cap.rights = EXS_SVC_ALL;
  BOOST_TEST(outcome(&cap) == EACCES);
  cap = good;
  cap.serial = 8;
  BOOST_TEST(outcome(&cap) == EACCES);
  cap = good;
  cap.expires_ms = 0;
  BOOST_TEST(outcome(&cap) == EACCES);
  cap = make(EXS_SVC_SEND);
  cap.secret[31] ^= 1;
  BOOST_TEST(outcome(&cap) == EACCES);
}

BOOST_AUTO_TEST_CASE(a_capability_of_another_service_is_worth_nothing) {
  const OwnedKey other = make_key();
  exs_svc_cap_t cap{};
  BOOST_REQUIRE(exs_svc_cap_make(other.get(), EXS_SVC_ALL, 5, 0, &cap) == 0);
  cap.id = id_of(key);
  BOOST_TEST(outcome(&cap) == EACCES);
}

BOOST_AUTO_TEST_CASE(capabilities_end) {
  const exs_svc_cap_t late = make(EXS_SVC_SEND, 5, 1);
  BOOST_TEST(outcome(&late) == EACCES);
  const exs_svc_cap_t in_time = make(EXS_SVC_SEND, 5, INT64_MAX);
  BOOST_TEST(outcome(&in_time) == 0);
  const exs_svc_cap_t revoked = make(EXS_SVC_SEND, 4);
  BOOST_TEST(outcome(&revoked) == EACCES);
}

// shows: EXS_SVC_EVT_DROPPED EACCES
BOOST_AUTO_TEST_CASE(who_may_ping_may_not_send) {
  const exs_svc_cap_t cap = make(EXS_SVC_STATS);
  exs_svc_peer_t* const peer = left.peer(key, nullptr, &cap);
  BOOST_TEST(exs_svc_ping(peer) == 0);
  BOOST_TEST(next_event(both, left, EXS_SVC_EVT_PONG).error == 0);
  BOOST_TEST(send(peer, {"x"}) == 0);
  BOOST_TEST(next_event(both, left, EXS_SVC_EVT_DROPPED).error == EACCES);
  BOOST_TEST(count_events(right, EXS_SVC_EVT_MESSAGE) == 0U);
}

// shows: EXS_SVC_EVT_PONG EACCES
BOOST_AUTO_TEST_CASE(who_may_send_may_not_ping) {
  const exs_svc_cap_t cap = make(EXS_SVC_SEND);
  exs_svc_peer_t* const peer = left.peer(key, nullptr, &cap);
  BOOST_TEST(exs_svc_ping(peer) == 0);
  BOOST_TEST(next_event(both, left, EXS_SVC_EVT_PONG).error == EACCES);
}

BOOST_AUTO_TEST_CASE(what_makes_no_capability_is_refused) {
  exs_svc_cap_t cap{};
  BOOST_TEST(exs_svc_cap_make(nullptr, EXS_SVC_SEND, 0, 0, &cap) == -1);
  BOOST_TEST(exs_svc_cap_make(key.get(), 0, 0, 0, &cap) == -1);
  BOOST_TEST(exs_svc_cap_make(key.get(), EXS_SVC_ALL << 1, 0, 0, &cap) == -1);
  BOOST_TEST(exs_svc_cap_make(key.get(), EXS_SVC_SEND, 0, -1, &cap) == -1);
  BOOST_TEST(errno == EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
