// Messages to services of this host, through the functions of exs/service.h.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>

#include <atomic>
#include <thread>

#include "tests/service/world.h"

namespace exs::svc {
namespace messages_test {

using namespace exs::svc::test;

}  // namespace messages_test

BOOST_FIXTURE_TEST_SUITE(messages_test, TwoNodes)

BOOST_AUTO_TEST_CASE(a_message_arrives_with_all_of_its_items) {
  int handle = 0;
  exs_svc_t* const service = right.open(key, nullptr, &handle);
  const exs_svc_event_t opened = next(right, EXS_SVC_EVT_OPEN);
  BOOST_TEST(opened.service == service);
  BOOST_TEST(opened.handle == &handle);
  exs_svc_peer_t* const peer = left.peer(key);
  const std::vector<std::vector<std::string>> messages = {
      {},
      {""},
      {"a"},
      {"one", "", "three"},
      std::vector<std::string>(16, "x"),
      {std::string(4000, 'y')},
      std::vector<std::string>(16, std::string(250, 'z'))};
  for (const std::vector<std::string>& items : messages) BOOST_TEST(send(peer, items) == 0);
  for (const std::vector<std::string>& items : messages) {
    const exs_svc_event_t event = next(right, EXS_SVC_EVT_MESSAGE);
    BOOST_TEST(event.service == service);
    BOOST_TEST(event.handle == &handle);
    BOOST_TEST(text_of(event.message).items == items, boost::test_tools::per_element());
    BOOST_TEST(text_of(event.message).from == std::string(16, '\0'));
    exs_svc_release(event.message);
  }
}

BOOST_AUTO_TEST_CASE(messages_of_a_peer_arrive_in_order) {
  right.open(key);
  exs_svc_peer_t* const peer = left.peer(key);
  constexpr int kMessages = 3000;
  int sent = 0;
  int received = 0;
  turn_until(both, [&] {
    while (sent < kMessages && send(peer, {std::to_string(sent)}) == 0) ++sent;
    while (count_events(right, EXS_SVC_EVT_MESSAGE) > 0)
      BOOST_REQUIRE(next_item(right) == std::to_string(received++));
    return received == kMessages;
  });
  BOOST_TEST(left.events.empty());
}

// shows: exs_svc_send_short EAGAIN
BOOST_AUTO_TEST_CASE(sixty_four_messages_wait_for_a_service) {
  exs_svc_peer_t* const peer = left.peer(key);
  for (int i = 0; i < 64; ++i) BOOST_TEST(send(peer, {std::to_string(i)}) == 0);
  BOOST_TEST(send(peer, {"too many"}) == EAGAIN);
  // Expect: a service that opens later gets them.
  right.open(key);
  for (int i = 0; i < 64; ++i) BOOST_TEST(next_item(right) == std::to_string(i));
}

BOOST_AUTO_TEST_CASE(the_sender_is_proven) {
  const OwnedKey other = make_key();
  exs_svc_t* const sender = left.open(other);
  right.open(key);
  BOOST_TEST(send(left.peer(key, sender), {"x"}) == 0);
  const exs_svc_id_t id = id_of(other);
  BOOST_TEST(next_text(both, right).from ==
             std::string(reinterpret_cast<const char*>(id.bytes), sizeof id.bytes));
}

BOOST_AUTO_TEST_CASE(a_node_sends_to_itself) {
  left.open(key);
  BOOST_TEST(send(left.peer(key), {"me"}) == 0);
  BOOST_TEST(next_item(left) == "me");
}

BOOST_AUTO_TEST_CASE(a_ping_is_answered) {
  right.open(key);
  int handle = 0;
  exs_svc_peer_t* const peer = left.peer(key, nullptr, nullptr, &handle);
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(exs_svc_ping(peer) == 0);
    check_refused(exs_svc_ping(peer), EAGAIN);
    const exs_svc_event_t pong = next(left, EXS_SVC_EVT_PONG);
    BOOST_TEST(pong.error == 0);
    BOOST_TEST(pong.peer == peer);
    BOOST_TEST(pong.handle == &handle);
    BOOST_TEST(pong.elapsed_ns > 0U);
  }
}

// shows: EXS_SVC_EVT_LOST ENOENT
BOOST_AUTO_TEST_CASE(nobody_is_told_after_the_limit) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.find_ns = 50 * kMs;
  TestNode hasty(&options);
  exs_svc_peer_t* const peer = hasty.peer(key);
  for (int i = 0; i < 3; ++i) BOOST_TEST(send(peer, {"x"}) == 0);
  const exs_svc_event_t lost = next_event({&hasty}, hasty, EXS_SVC_EVT_LOST);
  BOOST_TEST(lost.error == ENOENT);
  BOOST_TEST(lost.count == 3U);
  BOOST_TEST(lost.peer == peer);
  // Expect: the next message tries again. Where a busy machine finds nobody in so short a time, it is sent once more.
  right.open(key);
  BOOST_TEST(send(peer, {"y"}) == 0);
  std::size_t tries = 1;
  turn_until({&hasty, &right}, [&] {
    if (count_events(hasty, EXS_SVC_EVT_LOST) == tries) {
      ++tries;
      BOOST_TEST(send(peer, {"y"}) == 0);
    }
    return count_events(right, EXS_SVC_EVT_MESSAGE) > 0;
  });
  BOOST_TEST(next_text({&hasty, &right}, right).items.front() == "y");
}

// shows: EXS_SVC_EVT_DROPPED ENOBUFS
BOOST_AUTO_TEST_CASE(a_full_mailbox_drops_and_tells) {
  exs_svc_options_t options{};
  options.struct_bytes = sizeof options;
  options.mailbox_max = 3;
  right.open(key, &options);
  exs_svc_peer_t* const peer = left.peer(key);
  for (int i = 0; i < 10; ++i) BOOST_TEST(send(peer, {std::to_string(i)}) == 0);
  std::uint64_t dropped = 0;
  while (dropped < 7) {
    const exs_svc_event_t event = next(left, EXS_SVC_EVT_DROPPED);
    BOOST_TEST(event.peer == peer);
    BOOST_TEST(event.error == ENOBUFS);
    dropped += event.count;
  }
  BOOST_TEST(dropped == 7U);
  for (int i = 0; i < 3; ++i) BOOST_TEST(next_item(right) == std::to_string(i));
  // Expect: there is room again.
  BOOST_TEST(send(peer, {"after"}) == 0);
  BOOST_TEST(next_item(right) == "after");
}

BOOST_AUTO_TEST_CASE(a_service_is_one_at_a_time) {
  exs_svc_t* const service = left.open(key);
  BOOST_TEST(exs_svc_open(right.get(), key.get(), nullptr, nullptr) == nullptr);
  BOOST_TEST(errno == EADDRINUSE);
  exs_svc_close(service);
  right.open(key);
}

BOOST_AUTO_TEST_CASE(a_service_that_moves_to_another_node_is_found_there) {
  exs_svc_t* const service = right.open(key);
  exs_svc_peer_t* const peer = left.peer(key);
  BOOST_TEST(send(peer, {"first"}) == 0);
  BOOST_TEST(next_item(right) == "first");
  BOOST_TEST(exs_svc_ping(peer) == 0);
  next(left, EXS_SVC_EVT_PONG);  // the first has been acknowledged
  exs_svc_close(service);
  TestNode third;
  third.open(key);
  BOOST_TEST(send(peer, {"second"}) == 0);
  const std::vector<TestNode*> all{&left, &right, &third};
  BOOST_TEST(next_text(all, third).items.front() == "second");
  BOOST_TEST(count_events(left, EXS_SVC_EVT_LOST) == 0U);
}

// It was closed while nobody looked, and says so: none of them was taken.
BOOST_AUTO_TEST_CASE(messages_on_their_way_to_a_service_that_closes_go_where_it_opens_next) {
  exs_svc_t* const service = right.open(key);
  exs_svc_peer_t* const peer = left.peer(key);
  BOOST_TEST(exs_svc_ping(peer) == 0);
  next(left, EXS_SVC_EVT_PONG);
  for (int i = 0; i < 5; ++i) BOOST_TEST(send(peer, {std::to_string(i)}) == 0);
  exs_svc_close(service);
  TestNode third;
  third.open(key);
  const std::vector<TestNode*> all{&left, &right, &third};
  for (int i = 0; i < 5; ++i) BOOST_TEST(next_text(all, third).items.front() == std::to_string(i));
  BOOST_TEST(left.events.empty());
}

BOOST_AUTO_TEST_CASE(a_message_outlives_its_service_and_its_node) {
  exs_svc_t* const service = right.open(key);
  BOOST_TEST(send(left.peer(key), {"kept"}) == 0);
  const exs_svc_event_t event = next(right, EXS_SVC_EVT_MESSAGE);
  exs_svc_close(service);
  right.close();
  BOOST_TEST(text_of(event.message).items.front() == "kept");
  exs_svc_release(event.message);
}

BOOST_AUTO_TEST_CASE(messages_of_a_peer_that_is_closed_arrive) {
  right.open(key);
  exs_svc_peer_t* const peer = left.peer(key);
  BOOST_TEST(exs_svc_ping(peer) == 0);
  next(left, EXS_SVC_EVT_PONG);
  for (int i = 0; i < 10; ++i) BOOST_TEST(send(peer, {std::to_string(i)}) == 0);
  exs_svc_peer_close(peer);
  for (int i = 0; i < 10; ++i) BOOST_TEST(next_item(right) == std::to_string(i));
  BOOST_TEST(left.events.empty());
}

BOOST_AUTO_TEST_CASE(nothing_is_heard_of_a_peer_that_is_closed) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.find_ns = 30 * kMs;
  TestNode hasty(&options);
  exs_svc_peer_t* const peer = hasty.peer(key);
  BOOST_TEST(send(peer, {"x"}) == 0);
  exs_svc_peer_close(peer);
  exs_svc_peer_t* const other = hasty.peer(key);
  BOOST_TEST(send(other, {"x"}) == 0);
  BOOST_TEST(next_event({&hasty}, hasty, EXS_SVC_EVT_LOST).peer == other);
  BOOST_TEST(hasty.events.empty());
}

BOOST_AUTO_TEST_CASE(what_was_sent_before_a_node_ends_arrives) {
  right.open(key);
  exs_svc_peer_t* const peer = left.peer(key);
  BOOST_TEST(exs_svc_ping(peer) == 0);
  next(left, EXS_SVC_EVT_PONG);
  for (int i = 0; i < 30; ++i) BOOST_TEST(send(peer, {std::to_string(i)}) == 0);
  std::thread ends([this] { left.close(); });
  for (int i = 0; i < 30; ++i) BOOST_TEST(next_text({&right}, right).items.front() == std::to_string(i));
  ends.join();
}

// More than a node takes at a time: it can no longer acknowledge the first when the others come.
BOOST_AUTO_TEST_CASE(what_was_sent_arrives_after_its_node_has_ended) {
  right.open(key);
  const std::array<exs_svc_peer_t*, 2> peers{left.peer(key), left.peer(key)};
  for (exs_svc_peer_t* const peer : peers) {
    BOOST_TEST(exs_svc_ping(peer) == 0);
    next(left, EXS_SVC_EVT_PONG);
  }
  constexpr std::size_t kEach = 50;
  for (std::size_t i = 0; i < kEach; ++i) {
    for (exs_svc_peer_t* const peer : peers) BOOST_TEST(send(peer, {"late"}) == 0);
  }
  left.close();
  for (std::size_t i = 0; i < peers.size() * kEach; ++i)
    BOOST_TEST(next_text({&right}, right).items.front() == "late");
}

// shows: EXS_SVC_EVT_LOST EDQUOT
BOOST_AUTO_TEST_CASE(as_many_peers_as_the_service_wants) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.flows_max = 2;
  TestNode small(&options);
  small.open(key);
  const std::vector<TestNode*> all{&left, &small};
  std::vector<exs_svc_peer_t*> peers;
  for (int i = 0; i < 2; ++i) {
    peers.push_back(left.peer(key));
    BOOST_TEST(exs_svc_ping(peers.back()) == 0);
    next_event(all, left, EXS_SVC_EVT_PONG);
  }
  exs_svc_peer_t* const third = left.peer(key);
  BOOST_TEST(send(third, {"x"}) == 0);
  const exs_svc_event_t lost = next_event(all, left, EXS_SVC_EVT_LOST);
  BOOST_TEST(lost.error == EDQUOT);
  BOOST_TEST(lost.peer == third);
  // Expect: one that goes makes room, when its last message has been taken.
  BOOST_TEST(send(peers.front(), {"last"}) == 0);
  exs_svc_peer_close(peers.front());
  BOOST_TEST(next_text(all, small).items.front() == "last");
  for (int i = 0; i < 20; ++i) left.step();
  BOOST_TEST(send(third, {"y"}) == 0);
  BOOST_TEST(next_text(all, small).items.front() == "y");
}

BOOST_AUTO_TEST_CASE(the_descriptor_tells_of_events) {
  const int descriptor = exs_svc_node_fd(right.get());
  BOOST_TEST(descriptor >= 0);
  right.open(key);
  pollfd opened{descriptor, POLLIN, 0};
  BOOST_TEST(::poll(&opened, 1, 0) == 1);  // nothing has come from elsewhere
  next(right, EXS_SVC_EVT_OPEN);
  exs_svc_peer_t* const peer = left.peer(key);
  for (int i = 0; i < 5; ++i) BOOST_TEST(send(peer, {std::to_string(i)}) == 0);
  // Expect: whoever takes one event whenever the descriptor says so, gets all.
  int received = 0;
  for (int turn = 0; turn < kTurnsMax && received < 5; ++turn) {
    left.step();
    pollfd state{descriptor, POLLIN, 0};
    if (::poll(&state, 1, 1) == 0) continue;
    exs_svc_event_t event;
    if (exs_svc_wait(right.get(), &event, 1, 0) != 1 || event.type != EXS_SVC_EVT_MESSAGE) continue;
    BOOST_TEST(text_of(event.message).items.front() == std::to_string(received++));
    exs_svc_release(event.message);
  }
  BOOST_TEST(received == 5);
}

BOOST_AUTO_TEST_CASE(several_threads_wait_and_each_event_is_of_one) {
  right.open(key);
  exs_svc_peer_t* const peer = left.peer(key);
  constexpr int kMessages = 2000;
  std::atomic<int> received{0};
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (received < kMessages) {
        exs_svc_event_t event;
        if (exs_svc_wait(right.get(), &event, 1, 5 * kMs) != 1 || event.type != EXS_SVC_EVT_MESSAGE) continue;
        ++received;
        sum += std::stoi(text_of(event.message).items.front());
        exs_svc_release(event.message);
      }
    });
  }
  int sent = 0;
  turn_until({&left}, [&] {
    while (sent < kMessages && send(peer, {std::to_string(sent)}) == 0) ++sent;
    return sent == kMessages && received == kMessages;
  });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(sum == kMessages * (kMessages - 1) / 2);
}

BOOST_AUTO_TEST_CASE(several_threads_send_and_nothing_is_lost) {
  exs_svc_options_t options{};
  options.struct_bytes = sizeof options;
  options.mailbox_max = 1'000'000;
  right.open(key, &options);
  constexpr int kThreads = 4;
  constexpr int kMessages = 500;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i, peer = left.peer(key)] {
      for (int sent = 0; sent < kMessages;) {
        if (send(peer, {std::to_string(i), std::to_string(sent)}) == 0) {
          ++sent;
        } else {
          exs_svc_event_t event;
          exs_svc_wait(left.get(), &event, 1, kMs);
        }
      }
    });
  }
  std::array<int, kThreads> next{};
  int received = 0;
  turn_until({&right}, [&] {
    while (count_events(right, EXS_SVC_EVT_MESSAGE) > 0) {
      const Text text = next_text({&right}, right);
      BOOST_REQUIRE(std::stoi(text.items[1]) == next[static_cast<std::size_t>(std::stoi(text.items[0]))]++);
      ++received;
    }
    return received == kThreads * kMessages;
  });
  for (std::thread& thread : threads) thread.join();
}

BOOST_AUTO_TEST_CASE(a_wait_ends_at_its_limit) {
  exs_svc_event_t event;
  BOOST_TEST(exs_svc_wait(left.get(), &event, 1, 0) == 0);
  BOOST_TEST(exs_svc_wait(left.get(), &event, 1, kMs) == 0);
}

// shows: exs_svc_send_short EMSGSIZE
BOOST_AUTO_TEST_CASE(what_is_no_argument_is_refused) {
  exs_svc_event_t event;
  exs_svc_item_t item{nullptr, 1};
  const exs_svc_id_t id = id_of(key);
  exs_svc_peer_t* const peer = left.peer(key);
  check_refused(exs_svc_wait(nullptr, &event, 1, 0), EINVAL);
  check_refused(exs_svc_wait(left.get(), nullptr, 1, 0), EINVAL);
  check_refused(exs_svc_wait(left.get(), &event, 0, 0), EINVAL);
  check_refused(exs_svc_node_fd(nullptr), EINVAL);
  check_refused(exs_svc_ping(nullptr), EINVAL);
  check_refused(exs_svc_send_short(nullptr, nullptr, 0), EINVAL);
  check_refused(exs_svc_send_short(peer, nullptr, 1), EINVAL);
  check_refused(exs_svc_send_short(peer, &item, -1), EINVAL);
  check_refused(exs_svc_send_short(peer, &item, 1), EINVAL);
  const std::string text(4001, 'x');
  BOOST_TEST(send(peer, {text}) == EMSGSIZE);
  BOOST_TEST(send(peer, std::vector<std::string>(17, "x")) == EMSGSIZE);
  BOOST_TEST(exs_svc_open(nullptr, key.get(), nullptr, nullptr) == nullptr);
  BOOST_TEST(exs_svc_open(left.get(), nullptr, nullptr, nullptr) == nullptr);
  BOOST_TEST(exs_svc_peer_open(nullptr, nullptr, &id, nullptr, nullptr) == nullptr);
  BOOST_TEST(exs_svc_peer_open(left.get(), nullptr, nullptr, nullptr, nullptr) == nullptr);
  exs_svc_cap_t cap{};
  BOOST_TEST(exs_svc_peer_open(left.get(), nullptr, &id, &cap, nullptr) == nullptr);
  BOOST_TEST(errno == EINVAL);
  exs_svc_node_close(nullptr);
  exs_svc_close(nullptr);
  exs_svc_peer_close(nullptr);
  exs_svc_release(nullptr);
  exs_svc_key_free(nullptr);
}

BOOST_AUTO_TEST_CASE(a_node_listens_where_it_is_told) {
  const auto opens = [](const char* listen) {
    exs_svc_node_options_t options{};
    options.struct_bytes = sizeof options;
    options.listen = listen;
    exs_svc_node_t* const node = exs_svc_node_open(&options);
    const int error = node == nullptr ? errno : 0;
    exs_svc_node_close(node);
    return error;
  };
  for (const char* const listen : {"127.0.0.1", "127.0.0.1:0", "[::1]", "[::1]:0", "::1", "0.0.0.0", "::"})
    BOOST_TEST(opens(listen) == 0, listen);
  for (const char* const listen :
       {"", "localhost", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "[::1", "[::1]x", "[::1]:"})
    BOOST_TEST(opens(listen) == EINVAL, listen);
  BOOST_TEST(opens("192.0.2.1") == EADDRNOTAVAIL);
  BOOST_TEST(std::string_view(exs_svc_errtext()).find("no interface of this host") != std::string_view::npos,
             exs_svc_errtext());
  exs_svc_node_options_t options{};
  BOOST_TEST(exs_svc_node_open(&options) == nullptr);  // without struct_bytes
  BOOST_TEST(errno == EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
