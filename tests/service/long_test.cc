// Messages with long items: what arrives, where it lies, when the memory is the program's again, and in what order all comes.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>
#include <random>

#include "tests/service/world.h"

namespace exs::svc {
namespace long_test {

using namespace exs::svc::test;

struct LongMessages : TwoNodes {
  exs_svc_options_t options{sizeof options, 0, 0, 0, 0, 0, 0, 0};

  exs_svc_event_t next_sent() { return next(left, EXS_SVC_EVT_SENT); }
  // That no message of this node lies in it any more is seen by a message that takes all of it.
  void check_has_room_for(std::size_t bytes) {
    const std::vector<std::string> all{pattern(bytes, 9)};
    turn_until(both, [&] {
      BOOST_REQUIRE(send_long(peer, {}, all) == 0);
      const int error = next_sent().error;
      BOOST_REQUIRE((error == 0 || error == ENOBUFS));
      return error == 0;
    });
    BOOST_TEST((next_text(both, right).longs == all));
  }
  exs_svc_peer_t* peer = left.peer(key);
};

}  // namespace long_test

BOOST_FIXTURE_TEST_SUITE(long_test, LongMessages)

BOOST_AUTO_TEST_CASE(long_items_arrive_beside_short_ones) {
  right.open(key);
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> messages = {
      {{}, {pattern(1, 1)}},
      {{"short"}, {pattern(5000, 2), "", pattern(1 << 20, 3)}},
      {{}, {""}},
      {std::vector<std::string>(16, std::string(250, 'x')), std::vector<std::string>(16, pattern(70'000, 4))},
      {{"last"}, {pattern((3 << 20) + 1, 5)}}};
  int handles[5];
  for (std::size_t i = 0; i < messages.size(); ++i)
    BOOST_TEST(send_long(peer, messages[i].first, messages[i].second, &handles[i]) == 0);
  for (const auto& [items, longs] : messages) {
    const Text text = next_text(both, right);
    BOOST_TEST((text.items == items));
    BOOST_TEST((text.longs == longs));
  }
  for (int& handle : handles) {
    const exs_svc_event_t sent = next_sent();
    BOOST_TEST(sent.handle == &handle);
    BOOST_TEST(sent.error == 0);
    BOOST_TEST(sent.peer == peer);
  }
}

BOOST_AUTO_TEST_CASE(messages_stay_in_order_however_long_they_are) {
  right.open(key);
  constexpr std::size_t kMessages = 300;
  std::mt19937 choice(1);
  std::vector<std::vector<std::string>> longs(kMessages);
  for (std::size_t i = 0; i < kMessages; ++i)
    if (choice() % 3 != 0) longs[i].push_back(pattern(choice() % 100'000, i));
  std::size_t sent = 0;
  std::size_t received = 0;
  turn_until(both, [&] {
    while (sent < kMessages) {
      const std::vector<std::string> number{std::to_string(sent)};
      if ((longs[sent].empty() ? send(peer, number) : send_long(peer, number, longs[sent])) != 0) break;
      ++sent;
    }
    while (count_events(right, EXS_SVC_EVT_MESSAGE) > 0) {
      const Text text = next_text(both, right);
      BOOST_REQUIRE(text.items.front() == std::to_string(received));
      BOOST_REQUIRE((text.longs == longs[received++]));
    }
    return received == kMessages;
  });
  for (const auto& its : longs)
    if (!its.empty()) BOOST_TEST(next_sent().error == 0);
}

BOOST_AUTO_TEST_CASE(a_window_takes_what_fits_and_is_free_again_after_the_release) {
  exs_svc_t* const service = right.open(key);
  std::string small(10'000, '\0');
  std::string large(100'000, '\0');
  const auto lies_in = [](const exs_svc_message_t* message, const std::string& window) {
    const auto* const start = static_cast<const char*>(message->longs[0].data);
    return start >= window.data() && start < window.data() + window.size();
  };
  for (std::string* const window : {&large, &small})
    BOOST_TEST(exs_svc_window(service, window->data(), window->size(), EXS_MHANDLE_UNREGISTERED) == 0);
  for (int round = 0; round < 3; ++round) {
    const std::vector<std::string> longs{pattern(9'000, static_cast<std::size_t>(round))};
    for (int i = 0; i < 3; ++i) BOOST_TEST(send_long(peer, {}, longs) == 0);
    std::array<exs_svc_event_t, 3> events;
    for (exs_svc_event_t& event : events) event = next(right, EXS_SVC_EVT_MESSAGE);
    // Expect: the smallest that fits, then the next one, then memory of the library.
    BOOST_TEST(lies_in(events[0].message, small));
    BOOST_TEST(lies_in(events[1].message, large));
    BOOST_TEST((!lies_in(events[2].message, small) && !lies_in(events[2].message, large)));
    for (const exs_svc_event_t& event : events) {
      BOOST_TEST((text_of(event.message).longs == longs));
      exs_svc_release(event.message);
    }
  }
}

// shows: EXS_SVC_EVT_SENT ENOBUFS
BOOST_AUTO_TEST_CASE(what_has_no_room_is_refused_and_the_next_one_is_taken) {
  options.memory_max = 1 << 20;
  right.open(key, &options);
  const std::vector<std::string> too_long{pattern((1 << 20) + 1, 1)};
  const std::vector<std::string> fits{pattern(1 << 20, 2)};
  BOOST_TEST(send_long(peer, {"too long"}, too_long) == 0);
  BOOST_TEST(send_long(peer, {"fits"}, fits) == 0);
  BOOST_TEST(send_long(peer, {"no room yet"}, fits) == 0);
  const exs_svc_event_t first = next(right, EXS_SVC_EVT_MESSAGE);
  BOOST_TEST(text_of(first.message).items.front() == "fits");
  BOOST_TEST((text_of(first.message).longs == fits));
  BOOST_TEST(next_sent().error == ENOBUFS);
  BOOST_TEST(next_sent().error == 0);
  BOOST_TEST(next_sent().error == ENOBUFS);
  exs_svc_release(first.message);
  check_has_room_for(1 << 20);
}

BOOST_AUTO_TEST_CASE(memory_is_kept_for_messages_of_other_sizes_only_while_there_is_enough) {
  options.memory_max = 1 << 20;
  right.open(key, &options);
  for (const std::size_t bytes :
       {std::size_t{1} << 20, std::size_t{5000}, std::size_t{600'000}, std::size_t{5000}})
    check_has_room_for(bytes);
}

BOOST_AUTO_TEST_CASE(nobody_gives_the_memory_back_with_the_reason) {
  exs_svc_node_options_t hasty_options{};
  hasty_options.struct_bytes = sizeof hasty_options;
  hasty_options.find_ns = 50 * kMs;
  TestNode hasty(&hasty_options);
  int handle = 0;
  const std::vector<std::string> longs{pattern(5000, 1)};
  BOOST_TEST(send_long(hasty.peer(key), {}, longs, &handle) == 0);
  const exs_svc_event_t sent = next_event({&hasty}, hasty, EXS_SVC_EVT_SENT);
  BOOST_TEST(sent.error == ENOENT);
  BOOST_TEST(sent.handle == &handle);
  BOOST_TEST(next_event({&hasty}, hasty, EXS_SVC_EVT_LOST).count == 0U);
}

// shows: EXS_SVC_EVT_SENT EACCES
BOOST_AUTO_TEST_CASE(without_the_right_no_long_item_is_taken) {
  options.only_with_cap = 1;
  right.open(key, &options);
  exs_svc_cap_t cap{};
  BOOST_TEST(exs_svc_cap_make(key.get(), EXS_SVC_SEND, 0, 0, &cap) == 0);
  exs_svc_peer_t* const limited = left.peer(key, nullptr, &cap);
  const std::vector<std::string> longs{pattern(50'000, 1)};
  BOOST_TEST(send_long(limited, {}, longs) == 0);
  BOOST_TEST(send(limited, {"short"}) == 0);
  BOOST_TEST(next_sent().error == EACCES);
  BOOST_TEST(next_item(right) == "short");
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_closed_gives_back_what_nobody_reads) {
  right.open(key);
  BOOST_TEST(send(peer, {"first"}) == 0);
  BOOST_TEST(next_item(right) == "first");
  {
    const std::vector<std::string> longs{pattern(1 << 20, 1)};
    BOOST_TEST(send_long(peer, {}, longs) == 0);
    for (int turn = 0; turn < 20; ++turn) left.step();  // its other end does not read it
    exs_svc_peer_close(peer);
  }
  // Expect: nothing is heard of it, and the way is open to others.
  exs_svc_peer_t* const other = left.peer(key);
  BOOST_TEST(send(other, {"second"}) == 0);
  while (next_item(right) != "second") continue;
  BOOST_TEST(count_events(left, EXS_SVC_EVT_SENT) == 0U);
}

// The first long item of a link waits for its bulk, which the right end has no turn to make before the peer is closed.
BOOST_AUTO_TEST_CASE(what_waits_when_its_peer_is_closed_never_leaves) {
  right.open(key);
  BOOST_TEST(send(peer, {"first"}) == 0);
  BOOST_TEST(next_item(right) == "first");
  {
    const std::vector<std::string> longs{pattern(1 << 20, 1)};
    BOOST_TEST(send_long(peer, {"waits"}, longs) == 0);
    BOOST_TEST(send(peer, {"waits behind it"}) == 0);
    exs_svc_peer_close(peer);
  }
  peer = left.peer(key);
  const std::vector<std::string> longs{pattern(1 << 20, 2)};
  BOOST_TEST(send_long(peer, {"next"}, longs) == 0);
  const Text text = next_text(both, right);
  BOOST_TEST(text.items.front() == "next");
  BOOST_TEST((text.longs == longs));
  BOOST_TEST(next_sent().error == 0);
  BOOST_TEST(send(peer, {"last"}) == 0);
  BOOST_TEST(next_item(right) == "last");
}

BOOST_AUTO_TEST_CASE(a_node_that_is_closed_gives_back_what_nobody_reads) {
  right.open(key);
  const std::vector<std::string> first{pattern(8, 1)};
  BOOST_TEST(send_long(peer, {}, first) == 0);
  turn_until(both, [&] { return count_events(left, EXS_SVC_EVT_SENT) > 0; });
  const auto longs = std::make_unique<std::vector<std::string>>(1, pattern(1 << 20, 1));
  BOOST_TEST(send_long(peer, {}, *longs) == 0);
  left.close();
}

BOOST_AUTO_TEST_CASE(a_message_outlives_its_service_and_its_node) {
  exs_svc_t* const service = right.open(key);
  const std::vector<std::string> longs{pattern(50'000, 7)};
  for (int i = 0; i < 2; ++i) BOOST_TEST(send_long(peer, {}, longs) == 0);
  const exs_svc_event_t first = next(right, EXS_SVC_EVT_MESSAGE);
  const exs_svc_event_t second = next(right, EXS_SVC_EVT_MESSAGE);
  exs_svc_close(service);
  BOOST_TEST((text_of(first.message).longs == longs));
  exs_svc_release(first.message);
  right.close();
  left.close();
  BOOST_TEST((text_of(second.message).longs == longs));
  exs_svc_release(second.message);
}

BOOST_AUTO_TEST_CASE(what_makes_no_message_is_refused) {
  std::string text = "x";
  exs_iovec_t piece{text.data(), text.size(), EXS_MHANDLE_UNREGISTERED, 0};
  const std::vector<exs_iovec_t> many(17, piece);
  check_refused(exs_svc_send_long(nullptr, nullptr, 0, &piece, 1, nullptr), EINVAL);
  check_refused(exs_svc_send_long(peer, nullptr, 0, &piece, 0, nullptr), EINVAL);
  check_refused(exs_svc_send_long(peer, nullptr, 1, &piece, 1, nullptr), EINVAL);
  check_refused(exs_svc_send_long(peer, nullptr, 0, nullptr, 1, nullptr), EINVAL);
  check_refused(exs_svc_send_long(peer, nullptr, 0, many.data(), 17, nullptr), EMSGSIZE);
  piece.iov_len = static_cast<std::size_t>(EXS_SVC_LONG_MAX + 1);
  check_refused(exs_svc_send_long(peer, nullptr, 0, &piece, 1, nullptr), EMSGSIZE);
  piece.iov_len = 1;
  piece.iov_reserved = 1;
  check_refused(exs_svc_send_long(peer, nullptr, 0, &piece, 1, nullptr), EINVAL);
  exs_svc_t* const service = right.open(key);
  check_refused(exs_svc_window(nullptr, text.data(), 1, EXS_MHANDLE_UNREGISTERED), EINVAL);
  check_refused(exs_svc_window(service, nullptr, 1, EXS_MHANDLE_UNREGISTERED), EINVAL);
  check_refused(exs_svc_window(service, text.data(), 0, EXS_MHANDLE_UNREGISTERED), EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
