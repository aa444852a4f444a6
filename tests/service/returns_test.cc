// Replies that a service writes into memory of the request: what arrives, whose the memory is, and that nobody writes to it any more.
// SPDX-License-Identifier: BSD-2-Clause
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "exs/exs.h"
#include "service/flow/slot_space.h"
#include "tests/service/world.h"
#include "tests/support/property.h"

namespace exs::svc {
namespace returns_test {

using namespace exs::svc::test;

// Of this process.
std::uint64_t writes_so_far() {
  exs_stats_t stats{};
  stats.struct_bytes = sizeof stats;
  BOOST_REQUIRE(exs_getstats(-1, &stats) == 0);
  return stats.rdma_writes;
}

struct Returns : TwoNodes {
  exs_svc_peer_t* peer = trusting(key);

  exs_svc_peer_t* trusting(const OwnedKey& of, const exs_svc_cap_t* cap = nullptr,
                           std::uint64_t return_max = 0) const {
    exs_svc_peer_t* const made = left.peer(of, nullptr, cap);
    BOOST_REQUIRE(exs_svc_peer_trust(made, EXS_SVC_TRUST_WRITE, return_max) == 0);
    return made;
  }
  exs_iovec_t slot(std::size_t bytes, exs_svc_peer_t* of = nullptr) const {
    void* const memory = exs_svc_return_alloc(of == nullptr ? peer : of, bytes);
    BOOST_REQUIRE_MESSAGE(memory != nullptr, exs_svc_errtext());
    return {memory, bytes, EXS_MHANDLE_UNREGISTERED, 0};
  }
  // 0, or the errno.
  int ask(const std::vector<exs_iovec_t>& returns, void* handle = nullptr, std::uint32_t flags = 0,
          std::int64_t limit_ns = 0) const {
    exs_svc_request_options_t options{sizeof options, limit_ns, flags,
                                      static_cast<std::int32_t>(returns.size()), returns.data()};
    return request(peer, {"?"}, handle, &options);
  }
  exs_svc_event_t next_request() { return next(right, EXS_SVC_EVT_REQUEST); }
  exs_svc_event_t next_reply() { return next(left, EXS_SVC_EVT_REPLY); }
  // Which lies where the request wants it.
  void check_reply(const std::vector<exs_iovec_t>& returns, const std::vector<std::string>& longs) {
    const exs_svc_event_t answer = next_reply();
    BOOST_REQUIRE(answer.error == 0);
    BOOST_TEST((text_of(answer.message).longs == longs));
    BOOST_REQUIRE(answer.message->longs_count == longs.size());
    for (std::size_t i = 0; i < longs.size(); ++i)
      BOOST_TEST(answer.message->longs[i].data == returns[i].iov_base);
    exs_svc_release(answer.message);
  }
  void exchange(const std::vector<exs_iovec_t>& returns, const std::vector<std::string>& longs) {
    BOOST_REQUIRE(ask(returns) == 0);
    const exs_svc_event_t asked = next_request();
    BOOST_REQUIRE(reply(asked.message, 0, {}, longs) == 0);
    exs_svc_release(asked.message);
    check_reply(returns, longs);
    if (!longs.empty()) ++replies;
    forget_replies();
  }
  // A reply that nobody may wait for. Its memory is the test's again after forget_replies().
  void try_to_reply(const exs_svc_event_t& asked, const std::vector<std::string>& longs) {
    const int error = reply(asked.message, 0, {}, longs);
    BOOST_REQUIRE((error == 0 || error == ECANCELED));
    if (error == 0) ++replies;
    exs_svc_release(asked.message);
  }
  void forget_replies() {
    for (; replies > 0; --replies) next(right, EXS_SVC_EVT_SENT);
  }
  std::size_t replies = 0;
  // Until replies are written, which they are when the lane is there.
  void exchange_until_written() {
    const exs_iovec_t place = slot(5000);
    const std::vector<std::string> longs{pattern(5000, 1)};
    for (int i = 0;; ++i) {
      BOOST_REQUIRE(i < kTurnsMax);
      const std::uint64_t before = writes_so_far();
      exchange({place}, longs);
      if (writes_so_far() > before) break;
    }
    BOOST_TEST(exs_svc_return_free(place.iov_base) == 0);
  }
};

}  // namespace returns_test

BOOST_FIXTURE_TEST_SUITE(returns_test, Returns)

BOOST_AUTO_TEST_CASE(replies_are_written_where_the_request_says) {
  right.open(key);
  exchange_until_written();
  const std::vector<exs_iovec_t> places{slot(1), slot(70'000), slot(1 << 20), slot(9)};
  const std::uint64_t before = writes_so_far();
  exchange(places, {pattern(1, 1), "", pattern(1 << 20, 2), pattern(4, 3)});
  exchange(places, {pattern(1, 4), pattern(70'000, 5)});
  BOOST_TEST(writes_so_far() - before >= 5U);
  exchange(places, {""});
  exchange(places, {});
}

BOOST_AUTO_TEST_CASE(the_first_reply_does_not_wait_for_the_lane) {
  right.open(key);
  const exs_iovec_t place = slot(100'000);
  for (std::size_t i = 0; i < 20; ++i) exchange({place}, {pattern(100'000 - i, i)});
}

BOOST_AUTO_TEST_CASE(parts_of_a_reply_follow_each_other) {
  right.open(key);
  exchange_until_written();
  std::vector<exs_iovec_t> places;
  for (int i = 0; i < EXS_SVC_ITEMS_MAX; ++i) places.push_back(slot(3000));
  BOOST_TEST(ask(places) == 0);
  const exs_svc_event_t asked = next_request();
  std::vector<std::vector<std::string>> parts;
  for (std::size_t i = 0; i < 8; ++i) parts.push_back({pattern(3000 - i, i), pattern(i, i + 20)});
  for (std::size_t i = 0; i < parts.size(); ++i)
    BOOST_TEST(reply(asked.message, 0, {}, parts[i], i + 1 < parts.size() ? EXS_SVC_MORE : 0) == 0);
  exs_svc_release(asked.message);
  for (std::size_t i = 0; i < parts.size(); ++i)
    check_reply({places.begin() + static_cast<std::ptrdiff_t>(2 * i), places.end()}, parts[i]);
  replies += parts.size();
  forget_replies();
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_told) {
  right.open(key);
  exchange_until_written();
  const exs_iovec_t place = slot(3000);
  for (const std::vector<std::string>& longs : {std::vector<std::string>{pattern(3001, 1)},
                                                std::vector<std::string>{pattern(10, 1), pattern(10, 2)}}) {
    BOOST_TEST(ask({place}) == 0);
    try_to_reply(next_request(), longs);
    BOOST_TEST(next_reply().error == ENOBUFS);
    forget_replies();
  }
  exchange({place}, {pattern(3000, 3)});
}

BOOST_AUTO_TEST_CASE(other_memory_goes_beside_it) {
  right.open(key);
  exchange_until_written();
  std::string other(50'000, '\0');
  const exs_iovec_t elsewhere{other.data(), other.size(), EXS_MHANDLE_UNREGISTERED, 0};
  exchange({slot(6000), elsewhere}, {pattern(6000, 1), pattern(50'000, 2)});
  exchange({elsewhere, slot(6000)}, {"", pattern(6000, 3)});
  BOOST_TEST(ask({elsewhere, slot(6000)}) == 0);
  exs_svc_release(next_request().message);
  BOOST_TEST(next_reply().error == ECANCELED);
}

BOOST_AUTO_TEST_CASE(a_part_of_it_may_be_named) {
  right.open(key);
  exchange_until_written();
  exs_iovec_t place = slot(10'000);
  std::memset(place.iov_base, 'x', place.iov_len);
  auto* const start = static_cast<char*>(place.iov_base);
  place = {start + 100, 5000, EXS_MHANDLE_UNREGISTERED, 0};
  exchange({place}, {pattern(5000, 1)});
  BOOST_TEST(std::string(start, 100) == std::string(100, 'x'));
  BOOST_TEST(std::string(start + 5100, 4900) == std::string(4900, 'x'));
}

// ---------------------------------------------------------------- whose it is

BOOST_AUTO_TEST_CASE(only_who_is_trusted_is_given_memory) {
  exs_svc_peer_t* const other = left.peer(key);
  check_refused(exs_svc_return_alloc(other, 1) == nullptr ? -1 : 0, EPERM);
  BOOST_TEST(exs_svc_peer_trust(other, EXS_SVC_TRUST_WRITE, 1 << 20) == 0);
  BOOST_TEST(exs_svc_peer_trust(other, 0, 0) == 0);
  check_refused(exs_svc_return_alloc(other, 1) == nullptr ? -1 : 0, EPERM);
  check_refused(exs_svc_peer_trust(nullptr, EXS_SVC_TRUST_WRITE, 0), EINVAL);
  check_refused(exs_svc_peer_trust(other, 2, 0), EINVAL);
  check_refused(exs_svc_peer_trust(other, EXS_SVC_TRUST_WRITE, EXS_SVC_RETURN_MAX + 1), EINVAL);
  BOOST_TEST(slot(1).iov_base != nullptr);
  check_refused(exs_svc_peer_trust(peer, 0, 0), EBUSY);
}

BOOST_AUTO_TEST_CASE(memory_is_given_as_far_as_it_goes) {
  exs_svc_peer_t* const few = trusting(key, nullptr, 1 << 20);
  const exs_iovec_t half = slot(1 << 19, few);
  const exs_iovec_t rest = slot(1 << 19, few);
  check_refused(exs_svc_return_alloc(few, 1) == nullptr ? -1 : 0, ENOBUFS);
  check_refused(exs_svc_return_alloc(few, (1 << 20) + 1) == nullptr ? -1 : 0, ENOBUFS);
  check_refused(exs_svc_return_alloc(few, SIZE_MAX) == nullptr ? -1 : 0, ENOBUFS);
  check_refused(exs_svc_return_alloc(few, 0) == nullptr ? -1 : 0, EINVAL);
  check_refused(exs_svc_return_alloc(nullptr, 1) == nullptr ? -1 : 0, EINVAL);
  check_refused(exs_svc_return_free(static_cast<char*>(half.iov_base) + 64), EINVAL);
  BOOST_TEST(exs_svc_return_free(half.iov_base) == 0);
  check_refused(exs_svc_return_free(half.iov_base), EINVAL);
  BOOST_TEST(exs_svc_return_free(rest.iov_base) == 0);
  BOOST_TEST(exs_svc_return_free(nullptr) == 0);
  int local = 0;
  check_refused(exs_svc_return_free(&local), EINVAL);
  exs_svc_peer_close(few);
  check_refused(exs_svc_return_free(half.iov_base), EINVAL);
}

// shows: exs_svc_request EBUSY
BOOST_AUTO_TEST_CASE(a_request_has_its_memory_until_it_ends) {
  right.open(key);
  const exs_iovec_t place = slot(1000);
  BOOST_TEST(ask({place}) == 0);
  BOOST_TEST(ask({place}) == EBUSY);
  BOOST_TEST(ask({slot(10), place}) == EBUSY);
  check_refused(exs_svc_return_free(place.iov_base), EBUSY);
  const exs_svc_event_t asked = next_request();
  check_refused(exs_svc_return_free(place.iov_base), EBUSY);
  const std::vector<std::string> longs{pattern(1000, 1)};
  try_to_reply(asked, longs);
  check_reply({place}, longs);
  forget_replies();
  exchange({place}, {pattern(999, 2)});
  BOOST_TEST(exs_svc_return_free(place.iov_base) == 0);
  BOOST_TEST(ask({place}) == EINVAL);
  exs_iovec_t beyond = slot(1000);
  ++beyond.iov_len;
  BOOST_TEST(ask({beyond}) == EINVAL);
}

BOOST_AUTO_TEST_CASE(who_may_not_have_replies_written_has_them_all_the_same) {
  const OwnedKey guarded = make_key();
  right.open(guarded);
  exs_svc_cap_t cap{};
  BOOST_REQUIRE(exs_svc_cap_make(guarded.get(), EXS_SVC_REQUEST, 0, 0, &cap) == 0);
  peer = trusting(guarded, &cap);
  const exs_iovec_t place = slot(10'000);
  const std::uint64_t before = writes_so_far();
  for (std::size_t i = 0; i < 50; ++i) exchange({place}, {pattern(10'000, i)});
  BOOST_TEST(writes_so_far() == before);
}

// ---------------------------------------------------------------- its end

BOOST_AUTO_TEST_CASE(a_request_that_is_cancelled_is_not_written_any_more) {
  right.open(key);
  exchange_until_written();
  const exs_iovec_t place = slot(100'000);
  int handle = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    BOOST_TEST(ask({place}, &handle) == 0);
    const exs_svc_event_t asked = next_request();
    const std::vector<std::string> late{pattern(100'000, 1000 + i)};
    if (i % 2 == 0) try_to_reply(asked, late);
    // Expect: an end, at whatever moment.
    for (std::size_t turn = 0; turn < i; ++turn) left.step();
    const bool is_open = exs_svc_cancel(peer, &handle) == 0;
    const exs_svc_event_t ended = next_reply();
    BOOST_TEST(ended.error == (is_open ? ECANCELED : 0));
    exs_svc_release(ended.message);
    std::memset(place.iov_base, 'x', place.iov_len);
    if (i % 2 != 0) try_to_reply(asked, late);
    exchange({slot(10)}, {"next"});
    BOOST_TEST(std::string(static_cast<char*>(place.iov_base), place.iov_len) == std::string(100'000, 'x'));
    exchange({place}, {pattern(90'000, i)});
  }
}

BOOST_AUTO_TEST_CASE(a_limit_that_passes_takes_the_memory_back) {
  right.open(key);
  exchange_until_written();
  const exs_iovec_t place = slot(100'000);
  BOOST_TEST(ask({place}, nullptr, 0, 20 * kMs) == 0);
  const exs_svc_event_t asked = next_request();
  const std::vector<std::string> late{pattern(100'000, 1)};
  BOOST_TEST(next_event({&left}, left, EXS_SVC_EVT_REPLY).error == ETIMEDOUT);
  std::memset(place.iov_base, 'x', place.iov_len);
  BOOST_TEST(exs_svc_return_free(place.iov_base) == 0);
  try_to_reply(asked, late);
  // Expect: whoever has the memory next finds in it what is meant for it.
  const exs_iovec_t again = slot(100'000);
  BOOST_TEST(again.iov_base == place.iov_base);
  exchange({slot(10)}, {"next"});
  BOOST_TEST(std::string(static_cast<char*>(place.iov_base), place.iov_len) == std::string(100'000, 'x'));
  exchange({again}, {pattern(100'000, 2)});
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_closed_takes_its_memory_back_and_leaves_others_alone) {
  right.open(key);
  exchange_until_written();
  exs_svc_peer_t* const other = left.peer(key);
  int other_handle = 0;
  BOOST_TEST(request(other, {"other"}, &other_handle) == 0);
  const exs_svc_event_t asked_other = next_request();
  BOOST_TEST(ask({slot(1 << 20)}) == 0);
  const exs_svc_event_t asked = next_request();
  const std::vector<std::string> late{pattern(1 << 20, 1)};
  exs_svc_peer_close(peer);
  try_to_reply(asked, late);
  BOOST_TEST(reply(asked_other.message, 0, {"yes"}) == 0);
  exs_svc_release(asked_other.message);
  const exs_svc_event_t answer = next_reply();
  BOOST_TEST(answer.handle == &other_handle);
  BOOST_TEST(answer.error == 0);
  exs_svc_release(answer.message);
  forget_replies();
  BOOST_TEST(count_events(left, EXS_SVC_EVT_REPLY) == 0U);
}

BOOST_AUTO_TEST_CASE(a_peer_is_closed_at_any_moment) {
  right.open(key);
  exs_svc_peer_close(peer);
  for (int i = 0; i < 30; ++i) {
    peer = trusting(key);
    const exs_iovec_t place = slot(50'000);
    BOOST_TEST(ask({place}) == 0);
    for (int turn = 0; turn < i; ++turn) {
      left.step();
      right.step();
      if (turn % 3 == 1 && count_events(right, EXS_SVC_EVT_REQUEST) > 0) {
        const exs_svc_event_t asked = next_request();
        static const std::vector<std::string> longs{pattern(50'000, 3)};
        BOOST_TEST((reply(asked.message, 0, {}, longs) == 0 || errno == ECANCELED));
        exs_svc_release(asked.message);
      }
    }
    for (const exs_svc_event_t& event : left.events) exs_svc_release(event.message);
    left.events.clear();
    exs_svc_peer_close(peer);
    BOOST_TEST(left.events.empty());
  }
  peer = trusting(key);
  while (count_events(right, EXS_SVC_EVT_REQUEST) > 0) exs_svc_release(next_request().message);
}

BOOST_AUTO_TEST_CASE(a_service_that_closes_is_found_again_with_the_memory) {
  exs_svc_t* const service = right.open(key);
  exchange_until_written();
  const exs_iovec_t place = slot(20'000);
  int plain = 0;
  const exs_iovec_t of_plain = slot(20'000);
  BOOST_TEST(ask({place}, nullptr, EXS_SVC_IDEMPOTENT) == 0);
  BOOST_TEST(ask({of_plain}, &plain) == 0);
  const exs_svc_event_t first = next_request();
  const exs_svc_event_t second = next_request();
  exs_svc_close(service);
  exs_svc_release(first.message);
  exs_svc_release(second.message);
  right.open(key);
  const exs_svc_event_t again = next_request();
  BOOST_TEST(next_reply().error == EOWNERDEAD);
  BOOST_TEST(exs_svc_return_free(of_plain.iov_base) == 0);
  const std::vector<std::string> longs{pattern(20'000, 7)};
  try_to_reply(again, longs);
  check_reply({place}, longs);
  forget_replies();
  exchange_until_written();
}

BOOST_AUTO_TEST_CASE(a_service_that_closes_while_it_writes_has_its_memory_back) {
  exs_svc_t* const service = right.open(key);
  exchange_until_written();
  BOOST_TEST(ask({slot(8 << 20)}) == 0);
  const exs_svc_event_t asked = next_request();
  {
    const std::vector<std::string> longs{pattern(8 << 20, 1)};
    BOOST_TEST(reply(asked.message, 0, {}, longs) == 0);
    exs_svc_close(service);
  }
  exs_svc_release(asked.message);
}

// Requests, replies in parts, cancels, limits and broken links in any order: each reply is whole where its request wants it.
BOOST_AUTO_TEST_CASE(whatever_happens_each_reply_is_whole) {
  right.open(key);
  std::mt19937 choice(1);  // NOLINT: the same each time
  struct Asked {
    exs_iovec_t place{};
    bool is_open = false;
  };
  std::vector<Asked> all(24);
  for (Asked& asked : all) asked.place = slot(1 + choice() % 60'000);
  struct Answer {
    std::vector<std::string> longs;
    bool is_sent = false;
  };
  std::vector<std::unique_ptr<Answer>> answers;
  std::vector<exs_svc_event_t> in_hand;
  std::size_t whole = 0;
  std::size_t number = 0;
  const std::uint64_t before = writes_so_far();
  for (int turn = 0; whole < 1500; ++turn) {
    BOOST_REQUIRE(turn < kTurnsMax);
    for (Asked& asked : all) {
      if (asked.is_open && choice() % 400 == 0) exs_svc_cancel(peer, &asked);
      if (asked.is_open || choice() % 2 == 0) continue;
      const std::int64_t limit_ns = choice() % 50 == 0 ? kMs : 0;
      const int error = ask({asked.place}, &asked, choice() % 2 == 0 ? EXS_SVC_IDEMPOTENT : 0, limit_ns);
      BOOST_REQUIRE((error == 0 || error == EAGAIN));
      asked.is_open = error == 0;
    }
    left.step();
    right.step();
    for (const exs_svc_event_t& event : right.events) {
      if (event.type == EXS_SVC_EVT_SENT) static_cast<Answer*>(event.handle)->is_sent = true;
      if (event.type == EXS_SVC_EVT_REQUEST) in_hand.push_back(event);
    }
    right.events.clear();
    std::erase_if(answers, [](const auto& answer) { return answer->is_sent; });
    while (!in_hand.empty() && choice() % 8 != 0) {
      const std::size_t one = choice() % in_hand.size();
      auto answer = std::make_unique<Answer>();
      answer->longs.push_back(pattern(1 + choice() % 60'000, ++number));
      const std::string said = std::to_string(number);
      if (reply(in_hand[one].message, 0, {said}, answer->longs, 0, answer.get()) == 0)
        answers.push_back(std::move(answer));
      exs_svc_release(in_hand[one].message);
      in_hand.erase(in_hand.begin() + static_cast<std::ptrdiff_t>(one));
    }
    for (const exs_svc_event_t& event : left.events) {
      BOOST_REQUIRE(event.type == EXS_SVC_EVT_REPLY);
      auto& asked = *static_cast<Asked*>(event.handle);
      BOOST_REQUIRE(asked.is_open);
      asked.is_open = false;
      if (event.error == 0) {
        const Text text = text_of(event.message);
        BOOST_REQUIRE((text.longs[0] == pattern(text.longs[0].size(), std::stoul(text.items[0]))));
        BOOST_REQUIRE(event.message->longs[0].data == asked.place.iov_base);
        ++whole;
      } else {
        BOOST_REQUIRE((event.error == ENOBUFS || event.error == ECANCELED || event.error == ETIMEDOUT));
      }
      exs_svc_release(event.message);
    }
    left.events.clear();
  }
  BOOST_TEST(writes_so_far() - before > 100U);
  for (const exs_svc_event_t& event : in_hand) exs_svc_release(event.message);
  right.close();
}

BOOST_AUTO_TEST_CASE(several_threads_have_memory_and_give_it_back) {
  right.open(key);
  constexpr int kThreads = 2;
  constexpr int kEach = 200;
  const std::string answer = pattern(6000, 1);
  std::atomic<int> answered{0};
  std::atomic<int> wrong{0};
  std::atomic<int> sent{0};
  const auto next_of = [](const TestNode& node) {
    exs_svc_event_t event{};
    if (exs_svc_wait(node.get(), &event, 1, kMs) < 1) event = {};
    return event;
  };
  // Of whichever thread: its memory is the handle.
  const auto take_reply = [&] {
    const exs_svc_event_t event = next_of(left);
    if (event.type == 0) return;
    const bool is_right = event.type == EXS_SVC_EVT_REPLY && event.error == 0 &&
                          std::memcmp(event.handle, answer.data(), answer.size()) == 0;
    ++(is_right && exs_svc_return_free(event.handle) == 0 ? answered : wrong);
    exs_svc_release(event.message);
  };
  const auto ask_and_take = [&] {
    for (int i = 0; i < kEach; ++i) {
      void* const memory = exs_svc_return_alloc(peer, answer.size());
      const exs_iovec_t place{memory, answer.size(), EXS_MHANDLE_UNREGISTERED, 0};
      while (ask({place}, memory) != 0) take_reply();
    }
    // The last replies are acknowledged when who has taken them waits once more.
    while (answered + wrong < kThreads * kEach || sent + wrong < kThreads * kEach) take_reply();
  };
  const auto answer_all = [&] {
    const exs_iovec_t item{const_cast<char*>(answer.data()), answer.size(), EXS_MHANDLE_UNREGISTERED, 0};
    while (sent + wrong < kThreads * kEach) {
      const exs_svc_event_t event = next_of(right);
      if (event.type == EXS_SVC_EVT_SENT) ++sent;
      if (event.type == EXS_SVC_EVT_REQUEST &&
          exs_svc_reply(event.message, 0, nullptr, 0, &item, 1, 0, nullptr) != 0)
        ++wrong;
      exs_svc_release(event.message);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back(ask_and_take);
    threads.emplace_back(answer_all);
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(answered == kThreads * kEach);
}

// ---------------------------------------------------------------- slots

BOOST_FIXTURE_TEST_CASE(slots_never_overlap_and_all_of_it_comes_back, exs::test::PropertyDefaults) {
  BOOST_TEST(exs::test::holds("slots", [] {
    const std::size_t all_bytes = SlotSpace::kUnit * (1 + exs::test::draw_index(64));
    SlotSpace space(all_bytes);
    std::map<std::size_t, std::size_t> slots;  // lengths, by where they begin
    for (std::size_t step = exs::test::draw_index(100); step > 0; --step) {
      if (!slots.empty() && exs::test::draw_index(3) == 0) {
        const auto one =
            std::next(slots.begin(), static_cast<std::ptrdiff_t>(exs::test::draw_index(slots.size())));
        space.give_back(one->first);
        slots.erase(one);
        continue;
      }
      const std::size_t bytes = 1 + exs::test::draw_index(all_bytes);
      const std::optional<std::size_t> start = space.take(bytes);
      // The longest gap between slots, which are whole units.
      std::size_t longest = 0;
      std::size_t end = 0;
      for (const auto& [at, length] : slots) {
        longest = std::max(longest, at - end);
        end = at + (length + SlotSpace::kUnit - 1) / SlotSpace::kUnit * SlotSpace::kUnit;
      }
      longest = std::max(longest, all_bytes - end);
      EXS_HOLD(start.has_value() == (bytes <= longest));
      if (!start) continue;
      EXS_HOLD(*start % SlotSpace::kUnit == 0 && *start + bytes <= all_bytes);
      const auto behind = slots.lower_bound(*start);
      EXS_HOLD(behind == slots.end() || *start + bytes <= behind->first);
      if (behind != slots.begin()) EXS_HOLD(std::prev(behind)->first + std::prev(behind)->second <= *start);
      slots.emplace(*start, bytes);
    }
    for (const auto& [start, bytes] : slots) {
      EXS_HOLD(space.is_slot(start) && !space.is_slot(start + 1));
      EXS_HOLD(space.slot_of(start, bytes) == start && space.slot_of(start + bytes - 1, 1) == start);
      EXS_HOLD(!space.slot_of(start, bytes + 1) && !space.slot_of(start + bytes - 1, 2));
      space.give_back(start);
    }
    EXS_HOLD(space.is_empty() && space.take(all_bytes) == std::size_t{0} && !space.take(1));
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
