// Requests and their replies: what arrives, that each ends once, and how.
// SPDX-License-Identifier: BSD-2-Clause
#include <atomic>
#include <random>
#include <thread>

#include "tests/service/world.h"

namespace exs::svc {
namespace requests_test {

using namespace exs::svc::test;

struct Requests : TwoNodes {
  exs_svc_peer_t* peer = left.peer(key);
  exs_svc_request_options_t options{sizeof options, 0, 0, 0, nullptr};

  exs_svc_event_t next_request() { return next(right, EXS_SVC_EVT_REQUEST); }
  exs_svc_event_t next_reply() { return next(left, EXS_SVC_EVT_REPLY); }
  // Which has come to nothing.
  void check_ends_with(int error, const void* handle = nullptr) {
    const exs_svc_event_t event = next_reply();
    BOOST_TEST(event.error == error);
    BOOST_TEST(event.message == nullptr);
    BOOST_TEST(event.handle == handle);
    BOOST_TEST(event.peer == peer);
  }
  // After it the link of that peer has a bulk, so that long items leave at once.
  void send_long_and_release(exs_svc_peer_t* to) {
    const std::vector<std::string> few{pattern(4, 1)};
    BOOST_TEST(send_long(to, {}, few) == 0);
    BOOST_TEST(next(left, EXS_SVC_EVT_SENT).error == 0);
    exs_svc_release(next(right, EXS_SVC_EVT_MESSAGE).message);
  }
  // Answers the next one with what it asks.
  void echo() {
    const exs_svc_event_t asked = next_request();
    const Text text = text_of(asked.message);
    BOOST_TEST(reply(asked.message, 0, text.items) == 0);
    exs_svc_release(asked.message);
  }
  std::string next_answer() {
    const exs_svc_event_t event = next_reply();
    BOOST_TEST(event.error == 0);
    const std::string answer = event.message == nullptr ? "none" : text_of(event.message).items.front();
    exs_svc_release(event.message);
    return answer;
  }
};

}  // namespace requests_test

BOOST_FIXTURE_TEST_SUITE(requests_test, Requests)

// shows: exs_svc_reply ECANCELED
BOOST_AUTO_TEST_CASE(a_request_is_answered) {
  int of_service = 0;
  exs_svc_t* const service = right.open(key, nullptr, &of_service);
  int handle = 0;
  options.limit_ns = 60'000 * kMs;
  BOOST_TEST(request(peer, {"what", "now"}, &handle, &options) == 0);
  const exs_svc_event_t asked = next_request();
  BOOST_TEST(asked.service == service);
  BOOST_TEST(asked.handle == &of_service);
  BOOST_TEST(asked.message->limit_ns == 60'000 * kMs);
  BOOST_TEST((text_of(asked.message).items == std::vector<std::string>{"what", "now"}));
  BOOST_TEST(reply(asked.message, -7, {"that", ""}) == 0);
  // Expect: once.
  BOOST_TEST(reply(asked.message, 0, {}) == ECANCELED);
  exs_svc_release(asked.message);
  const exs_svc_event_t answer = next_reply();
  BOOST_TEST(answer.error == 0);
  BOOST_TEST(answer.status == -7);
  BOOST_TEST(answer.flags == 0U);
  BOOST_TEST(answer.handle == &handle);
  BOOST_TEST(answer.peer == peer);
  const Text text = text_of(answer.message);
  BOOST_TEST((text.items == std::vector<std::string>{"that", ""}));
  const exs_svc_id_t id = id_of(key);
  BOOST_TEST(text.from == std::string(reinterpret_cast<const char*>(id.bytes), sizeof id.bytes));
  exs_svc_release(answer.message);
}

BOOST_AUTO_TEST_CASE(requests_are_answered_in_any_order_and_messages_go_beside_them) {
  right.open(key);
  constexpr std::size_t kRequests = 2000;
  std::vector<int> handles(kRequests);
  std::vector<exs_svc_event_t> in_hand;
  std::mt19937 choice(1);
  std::size_t sent = 0;
  std::size_t answered = 0;
  std::size_t messages = 0;
  turn_until(both, [&] {
    while (sent < kRequests && request(peer, {std::to_string(sent)}, &handles[sent]) == 0) ++sent;
    while (send(peer, {"beside"}) == 0 && choice() % 2 == 0) continue;
    for (const exs_svc_event_t& event : right.events) {
      if (event.type == EXS_SVC_EVT_REQUEST) in_hand.push_back(event);
      if (event.type == EXS_SVC_EVT_MESSAGE) ++messages;
      if (event.type == EXS_SVC_EVT_MESSAGE) exs_svc_release(event.message);
    }
    right.events.clear();
    while (!in_hand.empty() && choice() % 8 != 0) {
      const std::size_t one = choice() % in_hand.size();
      BOOST_REQUIRE(reply(in_hand[one].message, 1, text_of(in_hand[one].message).items) == 0);
      exs_svc_release(in_hand[one].message);
      in_hand.erase(in_hand.begin() + static_cast<std::ptrdiff_t>(one));
    }
    for (const exs_svc_event_t& event : left.events) {
      BOOST_REQUIRE(event.type == EXS_SVC_EVT_REPLY);
      BOOST_REQUIRE(event.error == 0);
      const std::size_t one = static_cast<std::size_t>(static_cast<int*>(event.handle) - handles.data());
      BOOST_REQUIRE(handles[one]++ == 0);
      BOOST_REQUIRE(text_of(event.message).items.front() == std::to_string(one));
      exs_svc_release(event.message);
      ++answered;
    }
    left.events.clear();
    return answered == kRequests;
  });
  BOOST_TEST(messages > 0U);
}

BOOST_AUTO_TEST_CASE(a_reply_comes_in_parts) {
  right.open(key);
  BOOST_TEST(request(peer, {"count"}) == 0);
  const exs_svc_event_t asked = next_request();
  for (int i = 0; i < 10; ++i)
    BOOST_TEST(reply(asked.message, i, {std::to_string(i)}, {}, EXS_SVC_MORE) == 0);
  BOOST_TEST(reply(asked.message, 10, {"end"}) == 0);
  exs_svc_release(asked.message);
  for (int i = 0; i <= 10; ++i) {
    const exs_svc_event_t part = next_reply();
    BOOST_TEST(part.flags == (i < 10 ? unsigned{EXS_SVC_MORE} : 0U));
    BOOST_TEST(part.status == i);
    exs_svc_release(part.message);
  }
}

// shows: exs_svc_reply EAGAIN
BOOST_AUTO_TEST_CASE(there_are_as_many_parts_as_are_taken_and_always_room_for_the_last) {
  right.open(key);
  BOOST_TEST(request(peer, {"count"}) == 0);
  const exs_svc_event_t asked = next_request();
  int parts = 0;
  while (reply(asked.message, parts, {}, {}, EXS_SVC_MORE) == 0) ++parts;
  BOOST_TEST(errno == EAGAIN);
  BOOST_TEST(parts == 63);
  BOOST_TEST(reply(asked.message, parts, {}) == 0);
  exs_svc_release(asked.message);
  for (int i = 0; i <= parts; ++i) {
    const exs_svc_event_t part = next_reply();
    BOOST_TEST(part.status == i);
    exs_svc_release(part.message);
  }
}

BOOST_AUTO_TEST_CASE(long_items_go_both_ways) {
  right.open(key);
  const std::vector<std::string> asked_longs{pattern(1 << 20, 1), pattern(7, 2)};
  const std::vector<std::string> answer_longs{pattern((2 << 20) + 5, 3), "", pattern(9999, 4)};
  BOOST_TEST(request(peer, {"x"}, nullptr, nullptr, asked_longs) == 0);
  const exs_svc_event_t asked = next_request();
  BOOST_TEST((text_of(asked.message).longs == asked_longs));
  int handle = 0;
  BOOST_TEST(reply(asked.message, 0, {"y"}, answer_longs, 0, &handle) == 0);
  exs_svc_release(asked.message);
  const exs_svc_event_t answer = next_reply();
  BOOST_TEST((text_of(answer.message).longs == answer_longs));
  BOOST_TEST((text_of(answer.message).items == std::vector<std::string>{"y"}));
  exs_svc_release(answer.message);
  const exs_svc_event_t sent = next(right, EXS_SVC_EVT_SENT);
  BOOST_TEST(sent.error == 0);
  BOOST_TEST(sent.handle == &handle);
}

BOOST_AUTO_TEST_CASE(long_items_of_replies_go_where_the_request_says) {
  right.open(key);
  std::string first(100'000, '\0');
  std::string second(1 << 20, '\0');
  const std::vector<exs_iovec_t> returns = {{first.data(), first.size(), EXS_MHANDLE_UNREGISTERED, 0},
                                            {second.data(), second.size(), EXS_MHANDLE_UNREGISTERED, 0}};
  options.returns = returns.data();
  options.returns_count = 2;
  const std::vector<std::string> parts{pattern(70'000, 1), pattern(1 << 20, 2)};
  BOOST_TEST(request(peer, {}, nullptr, &options) == 0);
  const exs_svc_event_t asked = next_request();
  const std::vector<std::string> one{parts[0]};
  const std::vector<std::string> last{parts[1]};
  BOOST_TEST(reply(asked.message, 0, {}, one, EXS_SVC_MORE) == 0);
  BOOST_TEST(reply(asked.message, 0, {}, last) == 0);
  exs_svc_release(asked.message);
  const exs_svc_event_t part = next_reply();
  BOOST_TEST(part.message->longs[0].data == first.data());
  BOOST_TEST((first.substr(0, parts[0].size()) == parts[0]));
  exs_svc_release(part.message);
  const exs_svc_event_t end = next_reply();
  BOOST_TEST(end.message->longs[0].data == second.data());
  BOOST_TEST((second == parts[1]));
  exs_svc_release(end.message);
}

BOOST_AUTO_TEST_CASE(a_reply_that_does_not_fit_is_told_and_others_go_on) {
  right.open(key);
  std::string room(1000, '\0');
  const exs_iovec_t returns{room.data(), room.size(), EXS_MHANDLE_UNREGISTERED, 0};
  options.returns = &returns;
  options.returns_count = 1;
  const std::vector<std::string> longs{pattern(1001, 1)};
  BOOST_TEST(request(peer, {}, nullptr, &options) == 0);
  BOOST_TEST(request(peer, {"next"}) == 0);
  const exs_svc_event_t asked = next_request();
  BOOST_TEST(reply(asked.message, 0, {}, longs) == 0);
  exs_svc_release(asked.message);
  echo();
  check_ends_with(ENOBUFS);
  BOOST_TEST(next_answer() == "next");
  BOOST_TEST(room == std::string(1000, '\0'));
  BOOST_TEST(next(right, EXS_SVC_EVT_SENT).error == 0);
}

BOOST_AUTO_TEST_CASE(a_request_that_is_released_is_told_so) {
  right.open(key);
  int handle = 0;
  BOOST_TEST(request(peer, {"?"}, &handle) == 0);
  exs_svc_release(next_request().message);
  check_ends_with(ECANCELED, &handle);
}

BOOST_AUTO_TEST_CASE(a_request_ends_at_its_limit) {
  right.open(key);
  int handle = 0;
  options.limit_ns = 20 * kMs;
  // On a busy machine a request may be over before it is seen.
  for (bool is_seen = false; !is_seen; options.limit_ns *= 4) {
    BOOST_TEST(request(peer, {"late"}, &handle, &options) == 0);
    turn_until(both, [&] { return count_events(left, EXS_SVC_EVT_REPLY) > 0; });
    check_ends_with(ETIMEDOUT, &handle);
    is_seen = count_events(right, EXS_SVC_EVT_REQUEST) > 0;
  }
  const exs_svc_event_t asked = next_request();
  // Expect: its service is told, and others are answered.
  turn_until(both, [&] { return reply(asked.message, 0, {"late"}, {}, EXS_SVC_MORE) != 0; });
  BOOST_TEST(errno == ECANCELED);
  BOOST_TEST(reply(asked.message, 0, {"late"}) == ECANCELED);
  exs_svc_release(asked.message);
  BOOST_TEST(request(peer, {"next"}) == 0);
  echo();
  BOOST_TEST(next_answer() == "next");
}

BOOST_AUTO_TEST_CASE(a_request_that_nobody_has_seen_is_taken_back) {
  right.open(key);
  int handles[3];
  for (int& handle : handles) BOOST_TEST(request(peer, {std::to_string(&handle - handles)}, &handle) == 0);
  turn_until(both, [&] {
    return count_events(right, EXS_SVC_EVT_OPEN) > 0 && count_events(right, EXS_SVC_EVT_REQUEST) > 0;
  });
  BOOST_TEST(exs_svc_cancel(peer, &handles[1]) == 0);
  check_refused(exs_svc_cancel(peer, &handles[1]), ENOENT);
  check_ends_with(ECANCELED, &handles[1]);
  echo();
  BOOST_TEST(next_answer() == "0");
  check_refused(exs_svc_cancel(nullptr, nullptr), EINVAL);
}

BOOST_AUTO_TEST_CASE(a_limit_that_passes_while_nobody_is_there_takes_it_back) {
  int handle = 0;
  options.limit_ns = 20 * kMs;
  BOOST_TEST(request(peer, {"early"}, &handle, &options) == 0);
  check_ends_with(ETIMEDOUT, &handle);
  right.open(key);
  BOOST_TEST(request(peer, {"next"}) == 0);
  echo();
  BOOST_TEST(next_answer() == "next");
}

// shows: EXS_SVC_EVT_REPLY ETIMEDOUT
BOOST_AUTO_TEST_CASE(a_limit_gives_back_long_items_that_nobody_reads) {
  right.open(key);
  BOOST_TEST(request(peer, {"first"}) == 0);
  echo();
  BOOST_TEST(next_answer() == "first");
  options.limit_ns = 30 * kMs;
  {
    const std::vector<std::string> longs{pattern(1 << 20, 1)};
    send_long_and_release(peer);
    BOOST_TEST(request(peer, {"late"}, nullptr, &options, longs) == 0);
    BOOST_TEST(next_event({&left}, left, EXS_SVC_EVT_REPLY).error == ETIMEDOUT);
  }
  // Expect: the link is another one, and what nobody wants is not executed.
  BOOST_TEST(request(peer, {"next"}) == 0);
  echo();
  BOOST_TEST(next_answer() == "next");
  BOOST_TEST(count_events(right, EXS_SVC_EVT_REQUEST) == 0U);
}

// shows: exs_svc_request EAGAIN
BOOST_AUTO_TEST_CASE(sixty_four_requests_wait_for_a_service) {
  for (int i = 0; i < 64; ++i) BOOST_TEST(request(peer, {std::to_string(i)}) == 0);
  BOOST_TEST(request(peer, {"too many"}) == EAGAIN);
  right.open(key);
  for (int i = 0; i < 64; ++i) echo();
  for (int i = 0; i < 64; ++i) BOOST_TEST(next_answer() == std::to_string(i));
  BOOST_TEST(request(peer, {"next"}) == 0);
  echo();
  BOOST_TEST(next_answer() == "next");
}

BOOST_AUTO_TEST_CASE(nobody_answers) {
  exs_svc_node_options_t hasty_options{};
  hasty_options.struct_bytes = sizeof hasty_options;
  hasty_options.find_ns = 50 * kMs;
  TestNode hasty(&hasty_options);
  BOOST_TEST(request(hasty.peer(key), {"?"}) == 0);
  BOOST_TEST(next_event({&hasty}, hasty, EXS_SVC_EVT_REPLY).error == ENOENT);
}

// shows: EXS_SVC_EVT_REPLY EACCES ENOBUFS ECANCELED
BOOST_AUTO_TEST_CASE(what_is_not_allowed_or_has_no_room_is_not_executed) {
  exs_svc_options_t of_service{sizeof of_service, 1, 0, 1, 0, 0, 0, 0};
  right.open(key, &of_service);
  exs_svc_cap_t cap{};
  BOOST_TEST(exs_svc_cap_make(key.get(), EXS_SVC_SEND, 0, 0, &cap) == 0);
  BOOST_TEST(request(left.peer(key, nullptr, &cap), {"?"}) == 0);
  BOOST_TEST(next_reply().error == EACCES);
  BOOST_TEST(exs_svc_cap_make(key.get(), EXS_SVC_REQUEST, 0, 0, &cap) == 0);
  exs_svc_peer_t* const asker = left.peer(key, nullptr, &cap);
  for (int i = 0; i < 2; ++i) BOOST_TEST(request(asker, {"?"}) == 0);
  BOOST_TEST(next_reply().error == ENOBUFS);
  exs_svc_release(next_request().message);
  BOOST_TEST(next_reply().error == ECANCELED);
}

// shows: EXS_SVC_EVT_REPLY EOWNERDEAD
BOOST_AUTO_TEST_CASE(a_service_that_closes_leaves_requests_unknown_but_idempotent_ones) {
  exs_svc_t* const service = right.open(key);
  int plain = 0;
  int idempotent = 0;
  BOOST_TEST(request(peer, {"plain"}, &plain) == 0);
  options.flags = EXS_SVC_IDEMPOTENT;
  const std::vector<std::string> longs{pattern(100'000, 1)};
  BOOST_TEST(request(peer, {"idempotent"}, &idempotent, &options, longs) == 0);
  const exs_svc_event_t first = next_request();
  const exs_svc_event_t second = next_request();
  exs_svc_close(service);
  BOOST_TEST(reply(first.message, 0, {"late"}) == ECANCELED);
  exs_svc_release(first.message);
  exs_svc_release(second.message);
  // Expect: the next one is asked what does no harm, and only that.
  TestNode third;
  third.open(key);
  const std::vector<TestNode*> all{&left, &right, &third};
  const exs_svc_event_t again = next_event(all, third, EXS_SVC_EVT_REQUEST);
  BOOST_TEST(text_of(again.message).items.front() == "idempotent");
  BOOST_TEST((text_of(again.message).longs == longs));
  BOOST_TEST(reply(again.message, 3, {}) == 0);
  exs_svc_release(again.message);
  const exs_svc_event_t ended = next_event(all, left, EXS_SVC_EVT_REPLY);
  BOOST_TEST(ended.handle == &plain);
  BOOST_TEST(ended.error == EOWNERDEAD);
  const exs_svc_event_t answered = next_event(all, left, EXS_SVC_EVT_REPLY);
  BOOST_TEST(answered.handle == &idempotent);
  BOOST_TEST(answered.status == 3);
  exs_svc_release(answered.message);
}

BOOST_AUTO_TEST_CASE(a_service_that_nobody_opens_again_leaves_requests_unknown) {
  exs_svc_node_options_t hasty_options{};
  hasty_options.struct_bytes = sizeof hasty_options;
  hasty_options.find_ns = 50 * kMs;
  TestNode hasty(&hasty_options);
  const std::vector<TestNode*> two{&hasty, &right};
  exs_svc_t* const service = right.open(key);
  exs_svc_peer_t* const asker = hasty.peer(key);
  BOOST_TEST(request(asker, {"plain"}) == 0);
  const exs_svc_event_t asked = next_event(two, right, EXS_SVC_EVT_REQUEST);
  exs_svc_close(service);
  exs_svc_release(asked.message);
  BOOST_TEST(next_event(two, hasty, EXS_SVC_EVT_REPLY).error == EOWNERDEAD);
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_closed_takes_its_requests_back) {
  right.open(key);
  for (int i = 0; i < 3; ++i) BOOST_TEST(request(peer, {std::to_string(i)}) == 0);
  const exs_svc_event_t asked = next_request();
  exs_svc_peer_close(peer);
  turn_until(both, [&] { return reply(asked.message, 0, {}, {}, EXS_SVC_MORE) != 0; });
  BOOST_TEST(errno == ECANCELED);
  exs_svc_release(asked.message);
  BOOST_TEST(count_events(left, EXS_SVC_EVT_REPLY) == 0U);
  peer = left.peer(key);
  BOOST_TEST(request(peer, {"next"}) == 0);
  for (std::string answer; answer != "next";) {
    const exs_svc_event_t event = next_request();
    answer = text_of(event.message).items.front();
    BOOST_TEST((reply(event.message, 0, {answer}) == 0 || errno == ECANCELED));
    exs_svc_release(event.message);
  }
  BOOST_TEST(next_answer() == "next");
}

BOOST_AUTO_TEST_CASE(nothing_is_heard_of_a_peer_that_is_closed) {
  right.open(key);
  BOOST_TEST(request(peer, {"first"}) == 0);
  echo();
  BOOST_TEST(next_answer() == "first");
  {
    send_long_and_release(peer);
    const std::vector<std::string> longs{pattern(1 << 20, 1)};
    BOOST_TEST(request(peer, {"asked"}, nullptr, nullptr, longs) == 0);
    exs_svc_peer_close(peer);  // nobody has read them
  }
  for (int turn = 0; turn < 20; ++turn) left.step();
  BOOST_TEST(left.events.empty());
}

// Its link breaks when the long item of another peer has to be let go of. At some turn the next link is open and has no bulk yet: then
// the request has left once, and waits to leave again.
BOOST_AUTO_TEST_CASE(a_request_is_taken_back_at_any_moment_after_its_link_broke) {
  right.open(key);
  bool has_arrived_again = false;
  for (int turns = 0; !has_arrived_again; ++turns) {
    exs_svc_peer_t* const other = left.peer(key);
    for (exs_svc_peer_t* const each : {peer, other}) send_long_and_release(each);
    const std::vector<std::string> longs{pattern(1 << 20, 1)};
    int handle = 0;
    BOOST_TEST(request(peer, {"asked"}, &handle, nullptr, longs) == 0);
    BOOST_TEST(send_long(other, {}, longs) == 0);
    exs_svc_peer_close(other);
    for (int turn = 0; turn < turns; ++turn) {
      left.step();
      right.step();
    }
    has_arrived_again = count_events(right, EXS_SVC_EVT_REQUEST) > 0;
    BOOST_TEST(exs_svc_cancel(peer, &handle) == 0);
    check_ends_with(ECANCELED, &handle);
  }
  exs_svc_release(next_request().message);
}

// The service says that it did not take the request, whose long item is under way to it; the link ends for that a moment later.
BOOST_AUTO_TEST_CASE(a_request_is_taken_back_at_any_moment_after_its_service_closed) {
  for (int turns = 0; turns < 12; ++turns) {
    exs_svc_t* const service = right.open(key);
    send_long_and_release(peer);
    const std::vector<std::string> longs{pattern(1 << 20, 1)};
    int handle = 0;
    BOOST_TEST(request(peer, {"asked"}, &handle, nullptr, longs) == 0);
    exs_svc_close(service);
    for (int turn = 0; turn < turns; ++turn) left.step();
    BOOST_TEST(exs_svc_cancel(peer, &handle) == 0);
    check_ends_with(ECANCELED, &handle);
  }
}

BOOST_AUTO_TEST_CASE(a_service_that_closes_has_its_memory_back) {
  exs_svc_t* const service = right.open(key);
  BOOST_TEST(request(peer, {}) == 0);
  const exs_svc_event_t asked = next_request();
  {
    const std::vector<std::string> longs{pattern(1 << 20, 1)};
    BOOST_TEST(reply(asked.message, 0, {}, longs) == 0);
    for (int turn = 0; turn < 20; ++turn) right.step();  // who has asked does not read it
    exs_svc_close(service);
  }
  exs_svc_release(asked.message);
}

BOOST_AUTO_TEST_CASE(several_threads_ask_and_answer) {
  right.open(key);
  constexpr int kThreads = 2;
  constexpr int kEach = 300;
  std::atomic<int> answered{0};
  std::atomic<int> wrong{0};
  const auto next_of = [](const TestNode& node) {
    exs_svc_event_t event{};
    if (exs_svc_wait(node.get(), &event, 1, kMs) < 1) event = {};
    return event;
  };
  const auto take_reply = [&] {
    const exs_svc_event_t event = next_of(left);
    if (event.type == 0) return;
    ++(event.type == EXS_SVC_EVT_REPLY && event.error == 0 ? answered : wrong);
    exs_svc_release(event.message);
  };
  const auto ask = [&] {
    for (int i = 0; i < kEach; ++i)
      while (request(peer, {std::to_string(i)}) != 0) take_reply();
    while (answered + wrong < kThreads * kEach) take_reply();
  };
  const auto answer = [&] {
    while (answered + wrong < kThreads * kEach) {
      const exs_svc_event_t event = next_of(right);
      if (event.type == EXS_SVC_EVT_REQUEST && reply(event.message, 0, {"yes"}) != 0) ++wrong;
      exs_svc_release(event.message);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back(ask);
    threads.emplace_back(answer);
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(answered == kThreads * kEach);
}

BOOST_AUTO_TEST_CASE(what_makes_no_request_or_reply_is_refused) {
  right.open(key);
  check_refused(exs_svc_request(nullptr, nullptr, 0, nullptr, 0, nullptr, nullptr), EINVAL);
  options.limit_ns = -1;
  check_refused(exs_svc_request(peer, nullptr, 0, nullptr, 0, &options, nullptr), EINVAL);
  options.limit_ns = 0;
  options.flags = 2;
  check_refused(exs_svc_request(peer, nullptr, 0, nullptr, 0, &options, nullptr), EINVAL);
  options.flags = 0;
  options.returns_count = 1;
  check_refused(exs_svc_request(peer, nullptr, 0, nullptr, 0, &options, nullptr), EINVAL);
  check_refused(exs_svc_reply(nullptr, 0, nullptr, 0, nullptr, 0, 0, nullptr), EINVAL);
  BOOST_TEST(send(peer, {"no request"}) == 0);
  const exs_svc_event_t event = next(right, EXS_SVC_EVT_MESSAGE);
  check_refused(exs_svc_reply(event.message, 0, nullptr, 0, nullptr, 0, 0, nullptr), EINVAL);
  exs_svc_release(event.message);
  // Expect: nor are more items taken than a message has.
  options.returns_count = 0;
  const std::vector<exs_svc_item_t> many(EXS_SVC_ITEMS_MAX + 1);
  const auto count = static_cast<int>(many.size());
  check_refused(exs_svc_request(peer, many.data(), count, nullptr, 0, &options, nullptr), EMSGSIZE);
  BOOST_TEST(request(peer, {"question"}) == 0);
  const exs_svc_event_t asked = next(right, EXS_SVC_EVT_REQUEST);
  check_refused(exs_svc_reply(asked.message, 0, many.data(), count, nullptr, 0, 0, nullptr), EMSGSIZE);
  exs_svc_release(asked.message);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
