// A service that moves from one node to another, with what it has at that time.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "service/names/key.h"
#include "service/wire/handover.h"
#include "tests/service/outcomes.h"
#include "tests/service/victim.h"

using namespace exs::svc::test;
using exs::svc::encode_handover_head;
using exs::svc::HandoverStatus;
using exs::svc::HandoverStep;

namespace moves_test {

// The name by which who is to have the service of a key can be asked.
exs_svc_id_t door_of(const OwnedKey& key) {
  const KeyFolder folder(key);
  std::optional<exs::svc::Key> read;
  BOOST_REQUIRE(exs::svc::test::take(exs::svc::KeyFile::load(folder.path().c_str()), read) == 0);
  const exs::svc::IdBytes bytes = exs::svc::adoption_key(*read).id();
  exs_svc_id_t id{};
  std::copy(bytes.begin(), bytes.end(), id.bytes);
  return id;
}

// Two nodes that may be the service, and one that asks it.
struct MovingWorld {
  TestNode here;
  TestNode there;
  TestNode client;
  OwnedKey key = make_key();
  const std::vector<TestNode*> all{&here, &there, &client};
  exs_svc_t* service = here.open(key);
  exs_svc_peer_t* peer = client.peer(key);
  int tag = 0;

  MovingWorld() { here.events.clear(); }
  exs_svc_event_t next(TestNode& at, int type) { return next_event(all, at, type); }
  exs_svc_t* adopt(TestNode& at) {
    exs_svc_t* const waiting = exs_svc_adopt(at.get(), key.get(), nullptr, &tag);
    BOOST_REQUIRE_MESSAGE(waiting != nullptr, exs_svc_errtext());
    return waiting;
  }
  void begin_move(exs_svc_t* from, const exs_svc_move_options_t* options = nullptr) {
    BOOST_REQUIRE_MESSAGE(exs_svc_move(from, options, &tag) == 0, exs_svc_errtext());
  }
  // The whole of it, while the program does what it has to.
  exs_svc_t* move_there(const std::function<void()>& meanwhile = [] {}) {
    exs_svc_t* const adopter = adopt(there);
    begin_move(service);
    end_move(adopter, 0, meanwhile);
    return adopter;
  }
  // Those that are there, which are released.
  static void take_each(TestNode& at, int type, const std::function<void(const exs_svc_event_t&)>& take) {
    for (auto it = at.events.begin(); it != at.events.end();) {
      if (it->type != type) {
        ++it;
        continue;
      }
      take(*it);
      exs_svc_release(it->message);
      it = at.events.erase(it);
    }
  }
  void end_move(
      exs_svc_t* adopter, int error = 0, const std::function<void()>& meanwhile = [] {}) {
    turn_until(all, [&] {
      meanwhile();
      return count_events(here, EXS_SVC_EVT_MOVED) == 1;
    });
    const exs_svc_event_t moved = next(here, EXS_SVC_EVT_MOVED);
    BOOST_TEST(moved.error == error);
    BOOST_TEST(moved.handle == &tag);
    BOOST_TEST(moved.service == service);
    if (error != 0) return;
    const exs_svc_event_t adopted = next(there, EXS_SVC_EVT_ADOPTED);
    BOOST_TEST(adopted.service == adopter);
    BOOST_TEST(adopted.handle == &tag);
    exs_svc_release(adopted.message);
    exs_svc_close(service);
    service = nullptr;
  }
  // Opens the flow.
  void say_hello() {
    BOOST_TEST(send(peer, {"hello"}) == 0);
    BOOST_TEST(next_text(all, here).items.front() == "hello");
  }
  void answer_next(TestNode& at, const std::string& text) {
    const exs_svc_event_t request = next(at, EXS_SVC_EVT_REQUEST);
    BOOST_TEST(reply(request.message, 0, {text}) == 0);
    exs_svc_release(request.message);
  }
  std::string next_answer(int error = 0) {
    const exs_svc_event_t answer = next(client, EXS_SVC_EVT_REPLY);
    BOOST_TEST(answer.error == error);
    if (answer.message == nullptr) return "none";
    const Text text = text_of(answer.message);
    exs_svc_release(answer.message);
    return text.items.front();
  }
};

}  // namespace moves_test

BOOST_FIXTURE_TEST_SUITE(moves_test, MovingWorld)

BOOST_AUTO_TEST_CASE(a_service_that_nobody_uses_moves) {
  exs_svc_t* const adopter = move_there();
  BOOST_TEST(send(peer, {"first"}) == 0);
  const exs_svc_event_t event = next(there, EXS_SVC_EVT_MESSAGE);
  BOOST_TEST(event.service == adopter);
  exs_svc_release(event.message);
}

// It has the name by which it waits, and says nothing.
// shows: EXS_SVC_EVT_MOVED ETIMEDOUT
BOOST_AUTO_TEST_CASE(a_move_to_a_process_that_is_stopped_ends_at_its_limit) {
  const KeyFolder folder(key);
  const Victim adopter(std::getenv("EXS_SERVICE_MOVER"), folder.path(), "adopt");
  const exs_svc_id_t endpoint = door_of(key);
  exs_svc_place_t place{};
  place.struct_bytes = sizeof place;
  turn_until(all, [&] { return exs_svc_locate(&endpoint, 60'000 * kMs, &place) == 0; });
  adopter.stop();
  exs_svc_move_options_t options{};
  options.struct_bytes = sizeof options;
  options.limit_ns = 300 * kMs;
  // The second time to search is over before a thread can look.
  for (const std::int64_t find_ns : {10 * kMs, INT64_C(1)}) {
    options.find_ns = find_ns;
    begin_move(service, &options);
    BOOST_TEST(next(here, EXS_SVC_EVT_MOVED).error == ETIMEDOUT);
  }
  // Expect: the service goes on here, and goes there when that is possible.
  say_hello();
  adopter.go_on();
  const std::uint32_t count = 3;
  const exs_iovec_t state{const_cast<std::uint32_t*>(&count), sizeof count, EXS_MHANDLE_UNREGISTERED, 0};
  options = {};
  options.struct_bytes = sizeof options;
  options.state = &state;
  options.state_count = 1;
  begin_move(service, &options);
  BOOST_TEST(next(here, EXS_SVC_EVT_MOVED).error == 0);
}

BOOST_AUTO_TEST_CASE(a_peer_goes_along_and_loses_nothing) {
  say_hello();
  move_there();
  for (int i = 0; i < 10; ++i) BOOST_TEST(send(peer, {std::to_string(i)}) == 0);
  for (int i = 0; i < 10; ++i) BOOST_TEST(next_text(all, there).items.front() == std::to_string(i));
  for (const exs_svc_event_t& event : client.events)
    BOOST_TEST((event.type != EXS_SVC_EVT_RESTART && event.type != EXS_SVC_EVT_LOST));
}

// How many of them the node has when the move begins is the machine's affair; each is an event that the program has not seen, but for
// one.
BOOST_AUTO_TEST_CASE(messages_that_the_program_has_not_seen_go_along_in_order) {
  say_hello();
  here.most_events = 1;
  const std::vector<std::string> longs{pattern(100'000, 3), "short"};
  BOOST_TEST(send_long(peer, {"0"}, longs) == 0);
  for (int i = 1; i < 10; ++i) BOOST_TEST(send(peer, {std::to_string(i)}) == 0);
  for (int i = 10; i < 20; ++i) BOOST_TEST(send_long(peer, {std::to_string(i)}, longs) == 0);
  int seen = 0;
  const auto take_all = [&](TestNode& at) {
    take_each(at, EXS_SVC_EVT_MESSAGE, [&](const exs_svc_event_t& event) {
      const Text text = text_of(event.message);
      BOOST_TEST(text.items.front() == std::to_string(seen));
      BOOST_TEST((text.longs.empty() || text.longs == longs));
      ++seen;
    });
    return seen > 0;
  };
  turn_until(all, [&] { return take_all(here); });
  move_there([&] { take_all(here); });
  turn_until(all, [&] { return take_all(there) && seen == 20; });
}

BOOST_AUTO_TEST_CASE(the_state_goes_along) {
  const std::vector<std::string> state{pattern(1'000'000, 9), "", "few bytes"};
  const std::vector<exs_iovec_t> pieces = pieces_of(state);
  exs_svc_move_options_t options{};
  options.struct_bytes = sizeof options;
  options.state = pieces.data();
  options.state_count = 3;
  exs_svc_t* const adopter = adopt(there);
  begin_move(service, &options);
  const exs_svc_event_t adopted = next(there, EXS_SVC_EVT_ADOPTED);
  BOOST_TEST(adopted.service == adopter);
  BOOST_TEST((texts_of(adopted.message->longs, adopted.message->longs_count) == state));
  exs_svc_release(adopted.message);
  BOOST_TEST(next(here, EXS_SVC_EVT_MOVED).error == 0);
}

BOOST_AUTO_TEST_CASE(it_waits_for_requests_in_hand) {
  BOOST_TEST(request(peer, {"slow"}) == 0);
  const exs_svc_event_t slow = next(here, EXS_SVC_EVT_REQUEST);
  exs_svc_t* const adopter = adopt(there);
  begin_move(service);
  // Those that come before the move has found the other are answered here, and one comes that is not.
  for (bool is_answered = true; is_answered;) {
    BOOST_TEST(request(peer, {"fast"}) == 0);
    for (int turn = 0; turn < 100; ++turn)
      for (TestNode* const node : all) node->step();
    is_answered = count_events(here, EXS_SVC_EVT_REQUEST) == 1;
    if (is_answered) answer_next(here, "here");
    if (is_answered) BOOST_TEST(next_answer() == "here");
  }
  BOOST_TEST(count_events(here, EXS_SVC_EVT_MOVED) == 0U);
  BOOST_TEST(reply(slow.message, 0, {"late"}) == 0);
  exs_svc_release(slow.message);
  end_move(adopter);
  answer_next(there, "soon");
  BOOST_TEST(next_answer() == "late");
  BOOST_TEST(next_answer() == "soon");
}

BOOST_AUTO_TEST_CASE(requests_that_the_program_has_not_seen_are_answered_there) {
  say_hello();
  here.most_events = 1;
  for (int i = 0; i < 30; ++i) BOOST_TEST(request(peer, {std::to_string(i)}) == 0);
  int seen = 0;
  const auto answer_all = [&](TestNode& at) {
    take_each(at, EXS_SVC_EVT_REQUEST, [&](const exs_svc_event_t& event) {
      BOOST_TEST(text_of(event.message).items.front() == std::to_string(seen++));
      BOOST_TEST(reply(event.message, 0, {"yes"}) == 0);
    });
    return seen > 0;
  };
  turn_until(all, [&] { return answer_all(here); });
  move_there([&] { answer_all(here); });
  turn_until(all, [&] { return answer_all(there) && seen == 30; });
  for (int i = 0; i < 30; ++i) BOOST_TEST(next_answer() == "yes");
}

BOOST_AUTO_TEST_CASE(after_the_limit_requests_in_hand_are_not_waited_for) {
  BOOST_TEST(request(peer, {"plain"}, &tag) == 0);
  exs_svc_request_options_t idempotent{};
  idempotent.struct_bytes = sizeof idempotent;
  idempotent.flags = EXS_SVC_IDEMPOTENT;
  BOOST_TEST(request(peer, {"idempotent"}, nullptr, &idempotent) == 0);
  const exs_svc_event_t plain = next(here, EXS_SVC_EVT_REQUEST);
  const exs_svc_event_t second = next(here, EXS_SVC_EVT_REQUEST);
  exs_svc_t* const adopter = adopt(there);
  exs_svc_move_options_t options{};
  options.struct_bytes = sizeof options;
  options.limit_ns = 1;
  begin_move(service, &options);
  end_move(adopter);
  // Expect: who asked is told, an idempotent request is asked there, and answers that come late are nobody's.
  BOOST_TEST(next_answer(EOWNERDEAD) == "none");
  BOOST_TEST(reply(plain.message, 0, {"late"}) == ECANCELED);
  exs_svc_release(plain.message);
  exs_svc_release(second.message);
  answer_next(there, "again");
  BOOST_TEST(next_answer() == "again");
}

// shows: EXS_SVC_EVT_SENT ECONNRESET
BOOST_AUTO_TEST_CASE(after_the_limit_replies_under_way_are_not_waited_for) {
  BOOST_TEST(request(peer, {"long"}, &tag) == 0);
  const exs_svc_event_t asked = next(here, EXS_SVC_EVT_REQUEST);
  const std::vector<std::string> longs{pattern(3'000'000, 1)};
  int sent = 0;
  BOOST_TEST(reply(asked.message, 0, {}, longs, 0, &sent) == 0);
  exs_svc_release(asked.message);
  exs_svc_t* const adopter = adopt(there);
  exs_svc_move_options_t options{};
  options.struct_bytes = sizeof options;
  options.limit_ns = 1;
  begin_move(service, &options);
  // The client is not there meanwhile.
  const std::vector<TestNode*> two{&here, &there};
  const exs_svc_event_t moved = next_event(two, here, EXS_SVC_EVT_MOVED);
  BOOST_TEST(moved.error == 0);
  const exs_svc_event_t let_go = next_event(two, here, EXS_SVC_EVT_SENT);
  BOOST_TEST(let_go.handle == &sent);
  BOOST_TEST(let_go.error == ECONNRESET);
  exs_svc_close(service);
  BOOST_TEST(next_answer(EOWNERDEAD) == "none");
  static_cast<void>(adopter);
}

// shows: EXS_SVC_EVT_MOVED ENOENT
BOOST_AUTO_TEST_CASE(a_move_to_nobody_leaves_it_where_it_is) {
  say_hello();
  exs_svc_move_options_t options{};
  options.struct_bytes = sizeof options;
  options.find_ns = kMs;
  begin_move(service, &options);
  end_move(nullptr, ENOENT);
  BOOST_TEST(send(peer, {"still"}) == 0);
  BOOST_TEST(next_text(all, here).items.front() == "still");
}

// shows: EXS_SVC_EVT_MOVED EADDRINUSE
BOOST_AUTO_TEST_CASE(a_name_that_somebody_else_has_there_leaves_it_where_it_is) {
  // The node that adopts it is the service's own.
  say_hello();
  adopt(here);
  begin_move(service);
  BOOST_TEST(request(peer, {"meanwhile"}) == 0);
  const auto answer_all = [this] {
    take_each(here, EXS_SVC_EVT_REQUEST,
              [](const exs_svc_event_t& event) { BOOST_TEST(reply(event.message, 0, {"here"}) == 0); });
  };
  end_move(nullptr, EADDRINUSE, answer_all);
  turn_until(all, [&] {
    answer_all();
    return count_events(client, EXS_SVC_EVT_REPLY) == 1;
  });
  BOOST_TEST(next_answer() == "here");
  // And may be moved afterwards.
  begin_move(service);
  end_move(nullptr, EADDRINUSE);
}

// shows: EXS_SVC_EVT_MOVED ENOBUFS
BOOST_AUTO_TEST_CASE(state_without_room_leaves_it_where_it_is) {
  exs_svc_options_t small{};
  small.struct_bytes = sizeof small;
  small.memory_max = 4096;
  BOOST_REQUIRE(exs_svc_adopt(there.get(), key.get(), &small, nullptr) != nullptr);
  const std::vector<std::string> state{pattern(1'000'000, 9)};
  const std::vector<exs_iovec_t> pieces = pieces_of(state);
  exs_svc_move_options_t options{};
  options.struct_bytes = sizeof options;
  options.state = pieces.data();
  options.state_count = 1;
  begin_move(service, &options);
  end_move(nullptr, ENOBUFS);
  BOOST_TEST(send(peer, {"still"}) == 0);
  BOOST_TEST(next_text(all, here).items.front() == "still");
}

BOOST_AUTO_TEST_CASE(what_waits_while_a_move_fails_comes_in_order) {
  exs_svc_t* const adopter = adopt(there);
  BOOST_TEST(request(peer, {"in hand"}) == 0);
  const exs_svc_event_t in_hand = next(here, EXS_SVC_EVT_REQUEST);
  exs_svc_move_options_t options{};
  options.struct_bytes = sizeof options;
  options.find_ns = kMs;
  begin_move(service, &options);
  for (int i = 0; i < 20; ++i) BOOST_TEST(send(peer, {std::to_string(i)}) == 0);
  for (int turn = 0; turn < 100; ++turn)
    for (TestNode* const node : all) node->step();
  int seen = 0;
  const auto take_all = [&] {
    take_each(here, EXS_SVC_EVT_MESSAGE, [&](const exs_svc_event_t& event) {
      BOOST_TEST(text_of(event.message).items.front() == std::to_string(seen++));
    });
  };
  take_all();
  // Who was to adopt it goes.
  exs_svc_close(adopter);
  there.close();
  BOOST_TEST(reply(in_hand.message, 0, {"done"}) == 0);
  exs_svc_release(in_hand.message);
  const std::vector<TestNode*> two{&here, &client};
  const exs_svc_event_t moved = next_event(two, here, EXS_SVC_EVT_MOVED);
  BOOST_TEST(moved.error != 0);
  BOOST_TEST(moved.error != EOWNERDEAD);
  turn_until(two, [&] {
    take_all();
    return seen == 20;
  });
}

BOOST_AUTO_TEST_CASE(it_moves_back_and_forth_under_load) {
  std::array<TestNode*, 2> owners{&here, &there};
  std::array<exs_svc_t*, 2> services{service, nullptr};
  int sent = 0;
  int seen = 0;
  int replied = 0;
  const auto drain = [&] {
    for (TestNode* const owner : owners) {
      for (auto it = owner->events.begin(); it != owner->events.end();) {
        if (it->type != EXS_SVC_EVT_REQUEST) {
          ++it;
          continue;
        }
        BOOST_TEST(text_of(it->message).items.front() == std::to_string(seen));
        ++seen;
        BOOST_TEST(reply(it->message, 0, {"yes"}) == 0);
        exs_svc_release(it->message);
        it = owner->events.erase(it);
      }
    }
    for (const exs_svc_event_t& event : std::exchange(client.events, {})) {
      BOOST_TEST(event.type == EXS_SVC_EVT_REPLY);
      BOOST_TEST(event.error == 0);
      exs_svc_release(event.message);
      ++replied;
    }
  };
  for (int round = 0; round < 20; ++round) {
    const std::size_t from = static_cast<std::size_t>(round) % 2;
    const std::size_t to = 1 - from;
    services[to] = adopt(*owners[to]);
    begin_move(services[from]);
    turn_until(all, [&] {
      while (sent - replied < 40 && request(peer, {std::to_string(sent)}) == 0) ++sent;
      drain();
      return count_events(*owners[from], EXS_SVC_EVT_MOVED) == 1 &&
             count_events(*owners[to], EXS_SVC_EVT_ADOPTED) == 1;
    });
    for (TestNode* const owner : owners) {
      for (const exs_svc_event_t& event : owner->events) {
        BOOST_TEST(event.error == 0);
        exs_svc_release(event.message);
      }
      owner->events.clear();
    }
    exs_svc_close(services[from]);
  }
  turn_until(all, [&] {
    drain();
    return replied == sent;
  });
  BOOST_TEST(seen == sent);
}

// Whoever waits for a service can be asked by a name that follows from its key.
BOOST_AUTO_TEST_CASE(who_is_not_the_service_cannot_give_it_away) {
  adopt(there);
  const exs_svc_id_t endpoint = door_of(key);
  exs_svc_peer_t* const stranger = exs_svc_peer_open(client.get(), nullptr, &endpoint, nullptr, nullptr);
  BOOST_REQUIRE(stranger != nullptr);
  BOOST_TEST(request(stranger, {"take this"}) == 0);
  BOOST_TEST(next(client, EXS_SVC_EVT_REPLY).error == EACCES);
  const OwnedKey other = make_key();
  exs_svc_peer_t* const impostor =
      exs_svc_peer_open(client.get(), client.open(other), &endpoint, nullptr, nullptr);
  BOOST_TEST(request(impostor, {"take this"}) == 0);
  BOOST_TEST(next(client, EXS_SVC_EVT_REPLY).error == EACCES);
}

BOOST_AUTO_TEST_CASE(handovers_that_are_none_are_refused) {
  exs_svc_t* const adopter = adopt(there);
  const exs_svc_id_t endpoint = door_of(key);
  exs_svc_peer_t* const giver = exs_svc_peer_open(here.get(), service, &endpoint, nullptr, nullptr);
  BOOST_REQUIRE(giver != nullptr);
  const auto head = [](HandoverStep step, std::uint64_t token) {
    const auto bytes = encode_handover_head({step, token, 7, 7});
    return std::string(bytes.begin(), bytes.end());
  };
  const auto status_of = [&](const std::vector<std::string>& items, const std::vector<std::string>& longs) {
    BOOST_TEST(request(giver, items, nullptr, nullptr, longs) == 0);
    const exs_svc_event_t answer = next(here, EXS_SVC_EVT_REPLY);
    BOOST_TEST(answer.error == 0);
    exs_svc_release(answer.message);
    return static_cast<HandoverStatus>(answer.status);
  };
  const std::string nothing(8, '\0');
  const std::vector<std::string> no_longs;
  const std::vector<std::string> short_of_a_byte{nothing.substr(1)};
  const std::vector<std::string> empty{nothing};
  BOOST_TEST((status_of({"garbage"}, no_longs) == HandoverStatus::kNotUnderstood));
  BOOST_TEST((status_of({}, no_longs) == HandoverStatus::kNotUnderstood));
  BOOST_TEST((status_of({head(HandoverStep::kPrepare, 1)}, no_longs) == HandoverStatus::kNotUnderstood));
  BOOST_TEST(
      (status_of({head(HandoverStep::kPrepare, 1)}, short_of_a_byte) == HandoverStatus::kNotUnderstood));
  BOOST_TEST((status_of({head(HandoverStep::kCommit, 1)}, no_longs) == HandoverStatus::kUnprepared));
  // Expect: what is prepared is committed by its own move alone, and comes as often as it wants to.
  BOOST_TEST((status_of({head(HandoverStep::kPrepare, 1)}, empty) == HandoverStatus::kDone));
  BOOST_TEST((status_of({head(HandoverStep::kPrepare, 2)}, empty) == HandoverStatus::kDone));
  BOOST_TEST((status_of({head(HandoverStep::kCommit, 1)}, no_longs) == HandoverStatus::kUnprepared));
  // Expect: nobody becomes what another is.
  BOOST_TEST((status_of({head(HandoverStep::kCommit, 2)}, no_longs) == HandoverStatus::kNameTaken));
  begin_move(service);
  end_move(adopter);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_moved) {
  check_refused(exs_svc_move(nullptr, nullptr, nullptr), EINVAL);
  exs_svc_move_options_t options{};
  options.struct_bytes = sizeof options;
  options.state_count = EXS_SVC_STATE_MAX + 1;
  check_refused(exs_svc_move(service, &options, nullptr), EINVAL);
  char byte = 0;
  exs_iovec_t piece = {&byte, static_cast<std::size_t>(EXS_SVC_LONG_MAX) + 1, EXS_MHANDLE_UNREGISTERED, 0};
  options.state = &piece;
  options.state_count = 1;
  check_refused(exs_svc_move(service, &options, nullptr), EMSGSIZE);
  options.state = nullptr;
  options.state_count = 0;
  options.to = "nowhere";
  check_refused(exs_svc_move(service, &options, nullptr), EINVAL);
  options.to = nullptr;
  options.limit_ns = -1;
  check_refused(exs_svc_move(service, &options, nullptr), EINVAL);
  // One that is on its way, that is to come, or that has gone.
  exs_svc_t* const adopter = adopt(there);
  check_refused(exs_svc_move(adopter, nullptr, nullptr), EALREADY);
  begin_move(service);
  check_refused(exs_svc_move(service, nullptr, nullptr), EALREADY);
  BOOST_TEST(next(here, EXS_SVC_EVT_MOVED).error == 0);
  check_refused(exs_svc_move(service, nullptr, nullptr), EALREADY);
  // And what cannot be adopted.
  BOOST_TEST(exs_svc_adopt(nullptr, key.get(), nullptr, nullptr) == nullptr);
  BOOST_TEST(errno == EINVAL);
  adopt(client);
  BOOST_TEST(exs_svc_adopt(here.get(), key.get(), nullptr, nullptr) == nullptr);
  BOOST_TEST(errno == EADDRINUSE);
}

BOOST_AUTO_TEST_CASE(a_service_is_closed_at_any_step_of_its_move) {
  for (int steps = 0; steps < 30; ++steps) {
    const OwnedKey other = make_key();
    exs_svc_t* const moving = here.open(other);
    exs_svc_t* const adopter = exs_svc_adopt(there.get(), other.get(), nullptr, nullptr);
    BOOST_REQUIRE(adopter != nullptr);
    begin_move(moving);
    for (int step = 0; step < steps; ++step) all[static_cast<std::size_t>(step) % 2]->step();
    if (steps % 2 == 0) {
      exs_svc_close(moving);
      exs_svc_close(adopter);
    } else {
      exs_svc_close(adopter);
      exs_svc_close(moving);
    }
    for (TestNode* const node : {&here, &there})
      for (const exs_svc_event_t& event : std::exchange(node->events, {})) exs_svc_release(event.message);
  }
}

BOOST_AUTO_TEST_SUITE_END()
