// Messages with tags: which receive gets which message, and what becomes of both. Holds for every provider.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/msg.h>

#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/support/exs_fixture.h"
#include "tests/support/job.h"

namespace exs::test {
namespace tags_test {

constexpr int kContext = 7;
// Eager with every provider, eager with some, and read by the receiver.
constexpr std::array<std::size_t, 8> kSizes = {0, 1, 64, 4096, 20'000, 40'000, 1 << 20, (3 << 20) + 17};

std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::uint8_t> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::uint8_t>(seed + i * 7 + (i >> 8U));
  return made;
}

struct TwoRanks {
  Job job{2};
  exm_ep_t a = job[0];
  exm_ep_t b = job[1];

  static exm_request_t isend(exm_ep_t ep, const std::vector<std::uint8_t>& from, int to, int tag,
                             int flags = 0) {
    exm_request_t request = 0;
    BOOST_REQUIRE_EQUAL(exm_isend(ep, from.data(), from.size(), to, tag, kContext, flags, &request), 0);
    return request;
  }
  static void send(exm_ep_t ep, const std::vector<std::uint8_t>& from, int to, int tag) {
    BOOST_REQUIRE_EQUAL(exm_send(ep, from.data(), from.size(), to, tag, kContext, 0), 0);
  }
  static exm_request_t irecv(exm_ep_t ep, std::vector<std::uint8_t>& into, int from, int tag) {
    exm_request_t request = 0;
    BOOST_REQUIRE_EQUAL(exm_irecv(ep, into.data(), into.size(), from, tag, kContext, &request), 0);
    return request;
  }
  static std::string wait(exm_ep_t ep, exm_request_t request) {
    exm_status_t status{};
    const int outcome = exm_wait(ep, &request, &status, kWaitNs);
    BOOST_TEST(request == 0U);
    BOOST_TEST((outcome == 0) == (status.error == 0));
    return text_of(status);
  }
  static constexpr std::int64_t kWaitNs = std::int64_t{kHangLimitSeconds} * 1'000'000'000;
};

}  // namespace tags_test

BOOST_FIXTURE_TEST_SUITE(tags_test, TwoRanks)

BOOST_AUTO_TEST_CASE(a_message_of_any_length_arrives_whole) {
  for (const std::size_t bytes : kSizes) {
    BOOST_TEST_CONTEXT(bytes << " bytes") {
      const auto sent = pattern(bytes, 1);
      std::vector<std::uint8_t> got(bytes);
      const exm_request_t receive = irecv(b, got, 0, 5);
      const exm_request_t send = isend(a, sent, 1, 5);
      BOOST_TEST(wait(b, receive) == "0/5/7: " + std::to_string(bytes));
      if (send != 0) BOOST_TEST(wait(a, send) == "1/5/7: " + std::to_string(bytes));
      BOOST_TEST((got == sent));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_message_waits_for_its_receive) {
  for (const std::size_t bytes : kSizes) {
    BOOST_TEST_CONTEXT(bytes << " bytes") {
      const auto sent = pattern(bytes, 2);
      const exm_request_t send = isend(a, sent, 1, 5);
      exm_status_t status{};
      BOOST_REQUIRE_EQUAL(exm_probe(b, 0, 5, kContext, &status, kWaitNs), 0);
      BOOST_TEST(text_of(status) == "0/5/7: " + std::to_string(bytes));
      std::vector<std::uint8_t> got(bytes);
      BOOST_TEST(wait(b, irecv(b, got, 0, 5)) == "0/5/7: " + std::to_string(bytes));
      if (send != 0) wait(a, send);
      BOOST_TEST((got == sent));
    }
  }
}

// ---------------------------------------------------------------- which message a receive gets

BOOST_AUTO_TEST_CASE(receives_take_by_source_tag_and_context) {
  Job three(3);
  const auto send = [&](int from, int tag, int context, std::uint8_t byte) {
    BOOST_REQUIRE_EQUAL(exm_send(three[from], &byte, 1, 0, tag, context, 0), 0);
  };
  const auto receive = [&](int from, int tag, int context) {
    std::uint8_t byte = 0;
    exm_status_t status{};
    BOOST_REQUIRE_EQUAL(exm_recv(three[0], &byte, 1, from, tag, context, &status), 0);
    return std::to_string(byte) + " " + text_of(status);
  };
  send(1, 10, 0, 1);
  send(1, 11, 0, 2);
  send(1, 10, 5, 3);
  send(2, 10, 0, 4);
  send(1, -7, 0, 5);
  BOOST_TEST(receive(1, 10, 5) == "3 1/10/5: 1");
  BOOST_TEST(receive(2, 10, 0) == "4 2/10/0: 1");
  BOOST_TEST(receive(1, 11, 0) == "2 1/11/0: 1");
  BOOST_TEST(receive(EXM_ANY_SOURCE, 10, 0) == "1 1/10/0: 1");
  BOOST_TEST(receive(1, EXM_ANY_TAG, 0) == "5 1/-7/0: 1");
  send(2, 77, INT32_MAX, 6);
  BOOST_TEST(receive(EXM_ANY_SOURCE, EXM_ANY_TAG, INT32_MAX) == "6 2/77/2147483647: 1");
}

// Whatever way each of them goes.
BOOST_AUTO_TEST_CASE(messages_of_a_source_come_in_order) {
  const std::size_t sizes[] = {8, 100'000, 64, 30'000, 8, 200'000, 1, 50'000};
  constexpr int kRounds = 20;
  std::vector<std::vector<std::uint8_t>> sent;
  std::vector<exm_request_t> sends;
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t size : sizes) {
      sent.push_back(pattern(size, static_cast<unsigned>(sent.size())));
      sends.push_back(isend(a, sent.back(), 1, round % 3));
    }
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    std::vector<std::uint8_t> got(sent[i].size());
    exm_status_t status{};
    BOOST_REQUIRE_EQUAL(exm_recv(b, got.data(), got.size(), EXM_ANY_SOURCE, EXM_ANY_TAG, kContext, &status),
                        0);
    BOOST_REQUIRE_EQUAL(status.length, sent[i].size());
    BOOST_REQUIRE(got == sent[i]);
  }
  BOOST_TEST(exm_waitall(a, sends.data(), static_cast<int>(sends.size()), nullptr, kWaitNs) == 0);
}

BOOST_AUTO_TEST_CASE(the_receive_that_was_posted_first_gets_the_message) {
  std::vector<std::uint8_t> first(1), second(1), third(1);
  const exm_request_t one = irecv(b, first, EXM_ANY_SOURCE, EXM_ANY_TAG);
  const exm_request_t two = irecv(b, second, 0, 5);
  const exm_request_t three = irecv(b, third, 0, EXM_ANY_TAG);
  for (std::uint8_t byte = 1; byte <= 3; ++byte)
    BOOST_REQUIRE_EQUAL(exm_send(a, &byte, 1, 1, 5, kContext, 0), 0);
  BOOST_TEST(wait(b, three) == "0/5/7: 1");
  BOOST_TEST(wait(b, two) == "0/5/7: 1");
  BOOST_TEST(wait(b, one) == "0/5/7: 1");
  BOOST_TEST(int{first[0]} == 1);
  BOOST_TEST(int{second[0]} == 2);
  BOOST_TEST(int{third[0]} == 3);
}

// ---------------------------------------------------------------- lengths and pieces

// shows: exm_recv EMSGSIZE
BOOST_AUTO_TEST_CASE(a_message_that_is_too_long_is_cut) {
  for (const std::size_t bytes : {100UL, 100'000UL}) {
    for (const bool is_expected : {true, false}) {
      BOOST_TEST_CONTEXT(bytes << " bytes, " << is_expected) {
        const auto sent = pattern(bytes, 3);
        std::vector<std::uint8_t> got(bytes);
        exm_request_t receive = 0;
        const auto post = [&] {
          BOOST_REQUIRE_EQUAL(exm_irecv(b, got.data(), 40, 0, 5, kContext, &receive), 0);
        };
        if (is_expected) post();
        const exm_request_t send = isend(a, sent, 1, 5);
        if (!is_expected) {
          BOOST_REQUIRE_EQUAL(exm_probe(b, 0, 5, kContext, nullptr, kWaitNs), 0);
          post();
        }
        exm_status_t status{};
        BOOST_TEST(exm_wait(b, &receive, &status, kWaitNs) == -1);
        BOOST_TEST(errno == EMSGSIZE);
        BOOST_TEST(text_of(status) == "0/5/7: " + std::to_string(bytes) + " EMSGSIZE");
        BOOST_TEST(std::equal(sent.begin(), sent.begin() + 40, got.begin()));
        BOOST_TEST(int{got[40]} == 0);
        if (send != 0) BOOST_TEST(wait(a, send) == "1/5/7: " + std::to_string(bytes));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(pieces_are_one_message) {
  for (const std::size_t bytes : {90UL, 90'000UL, 3'000'000UL}) {
    for (const std::size_t count : {std::size_t{3}, std::size_t{1000}}) {
      BOOST_TEST_CONTEXT(bytes << " bytes in " << count) {
        auto sent = pattern(bytes, 4);
        std::vector<std::uint8_t> got(bytes);
        const auto cut = [&](std::vector<std::uint8_t>& whole, std::size_t parts) {
          std::vector<exs_iovec_t> pieces;
          for (std::size_t at = 0, i = 0; i < parts; ++i) {
            const std::size_t end = whole.size() * (i + 1) / parts;
            pieces.push_back({whole.data() + at, end - at, EXS_MHANDLE_UNREGISTERED, 0});
            at = end;
          }
          return pieces;
        };
        const auto from = cut(sent, count);
        const auto into = cut(got, count / 2 + 1);
        exm_request_t receive = 0;
        exm_request_t send = 0;
        BOOST_REQUIRE_EQUAL(exm_irecvv(b, into.data(), static_cast<int>(into.size()), 0, 1, 0, &receive), 0);
        BOOST_REQUIRE_EQUAL(exm_isendv(a, from.data(), static_cast<int>(from.size()), 1, 1, 0, 0, &send), 0);
        BOOST_TEST(wait(b, receive) == "0/1/0: " + std::to_string(bytes));
        if (send != 0) wait(a, send);
        BOOST_TEST((got == sent));
      }
    }
  }
}

// ---------------------------------------------------------------- synchronous sends, cancelling, giving up

BOOST_AUTO_TEST_CASE(a_synchronous_send_ends_when_it_is_matched) {
  for (const std::size_t bytes : {0UL, 8UL, 100'000UL}) {
    BOOST_TEST_CONTEXT(bytes << " bytes") {
      const auto sent = pattern(bytes, 5);
      exm_request_t send = isend(a, sent, 1, 5, EXM_SYNC);
      BOOST_REQUIRE(send != 0);
      BOOST_REQUIRE_EQUAL(exm_probe(b, 0, 5, kContext, nullptr, kWaitNs), 0);
      BOOST_TEST(exm_test(a, &send, nullptr) == 0);
      std::vector<std::uint8_t> got(bytes);
      wait(b, irecv(b, got, 0, 5));
      BOOST_TEST(wait(a, send) == "1/5/7: " + std::to_string(bytes));
      BOOST_TEST((got == sent));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_receive_without_a_message_is_cancelled) {
  std::vector<std::uint8_t> got(8);
  exm_request_t receive = irecv(b, got, 0, 5);
  BOOST_TEST(exm_cancel(b, receive) == 0);
  exm_status_t status{};
  BOOST_TEST(exm_wait(b, &receive, &status, kWaitNs) == -1);
  BOOST_TEST(errno == ECANCELED);
  BOOST_TEST(status.cancelled == 1U);
  const auto sent = pattern(8, 6);
  send(a, sent, 1, 5);
  BOOST_TEST(wait(b, irecv(b, got, 0, 5)) == "0/5/7: 8");
  BOOST_TEST((got == sent));
}

BOOST_AUTO_TEST_CASE(what_nobody_waits_for_ends_alone) {
  auto sent = pattern(200'000, 7);
  std::vector<std::uint8_t> got(sent.size()), other(8);
  exm_request_t send = isend(a, sent, 1, 5);
  exm_request_t receive = irecv(b, got, 0, 5);
  exm_request_t never = irecv(b, other, 0, 99);
  BOOST_TEST(exm_free(a, &send) == 0);
  BOOST_TEST(exm_free(b, &never) == 0);
  BOOST_TEST((send == 0 && never == 0));
  BOOST_TEST(wait(b, receive) == "0/5/7: 200000");
  BOOST_TEST((got == sent));
  // Only then is the memory free.
  BOOST_TEST(job.finalize(0) == 0);
  BOOST_TEST(job.finalize(1) == 0);
}

// ---------------------------------------------------------------- probes

BOOST_AUTO_TEST_CASE(a_probe_tells_and_leaves) {
  exm_status_t status{};
  BOOST_TEST(exm_iprobe(b, EXM_ANY_SOURCE, EXM_ANY_TAG, kContext, &status) == 0);
  BOOST_TEST(exm_probe(b, EXM_ANY_SOURCE, EXM_ANY_TAG, kContext, &status, 1'000'000) == -1);
  BOOST_TEST(errno == ETIMEDOUT);
  const auto sent = pattern(12, 8);
  send(a, sent, 1, 5);
  BOOST_TEST(exm_probe(b, EXM_ANY_SOURCE, EXM_ANY_TAG, kContext, &status, kWaitNs) == 0);
  BOOST_TEST(exm_iprobe(b, 0, 5, kContext, &status) == 1);
  BOOST_TEST(text_of(status) == "0/5/7: 12");
  BOOST_TEST(exm_iprobe(b, 0, 6, kContext, &status) == 0);
  std::vector<std::uint8_t> got(12);
  wait(b, irecv(b, got, 0, 5));
  BOOST_TEST(exm_iprobe(b, 0, 5, kContext, &status) == 0);
}

// shows: exm_mrecv EMSGSIZE
BOOST_AUTO_TEST_CASE(a_matched_probe_takes_the_message) {
  for (const std::size_t bytes : {12UL, 120'000UL}) {
    const auto sent = pattern(bytes, 9);
    const auto later = pattern(bytes, 10);
    const exm_request_t one = isend(a, sent, 1, 5);
    const exm_request_t two = isend(a, later, 1, 5);
    exm_message_t message = 0;
    exm_status_t status{};
    BOOST_REQUIRE_EQUAL(exm_mprobe(b, EXM_ANY_SOURCE, EXM_ANY_TAG, kContext, &message, &status, kWaitNs), 0);
    BOOST_REQUIRE(message != 0);
    std::vector<std::uint8_t> got(bytes);
    wait(b, irecv(b, got, 0, 5));
    BOOST_TEST((got == later));
    const exm_message_t told = message;
    BOOST_TEST(exm_mrecv(b, got.data(), got.size(), &message, &status) == 0);
    BOOST_TEST(message == 0U);
    BOOST_TEST((got == sent));
    exm_message_t again = told;
    BOOST_TEST(exm_mrecv(b, got.data(), got.size(), &again, &status) == -1);
    BOOST_TEST(errno == EINVAL);
    for (exm_request_t send : {one, two}) {
      if (send != 0) wait(a, send);
    }
    BOOST_TEST(exm_improbe(b, 0, 5, kContext, &message, &status) == 0);
    const exm_request_t third = isend(a, sent, 1, 6);
    BOOST_REQUIRE_EQUAL(exm_mprobe(b, 0, 6, kContext, &message, nullptr, kWaitNs), 0);
    BOOST_TEST(exm_mrecv(b, got.data(), 4, &message, &status) == -1);
    BOOST_TEST(errno == EMSGSIZE);
    if (third != 0) wait(a, third);
  }
}

// ---------------------------------------------------------------- several requests

BOOST_AUTO_TEST_CASE(requests_are_waited_for_together) {
  std::array<std::vector<std::uint8_t>, 4> got;
  std::array<exm_request_t, 5> receives{};
  for (int tag = 0; tag < 4; ++tag) {
    got[static_cast<std::size_t>(tag)].resize(8);
    receives[static_cast<std::size_t>(tag)] = irecv(b, got[static_cast<std::size_t>(tag)], 0, tag);
  }
  int index = 0;
  exm_status_t status{};
  BOOST_TEST(exm_testany(b, receives.data(), 5, &index, &status) == 0);
  BOOST_TEST(index == EXM_UNDEFINED);
  const auto sent = pattern(8, 11);
  send(a, sent, 1, 2);
  BOOST_TEST(exm_waitany(b, receives.data(), 5, &index, &status, kWaitNs) == 0);
  BOOST_TEST(index == 2);
  BOOST_TEST(receives[2] == 0U);
  send(a, sent, 1, 3);
  send(a, sent, 1, 0);
  std::array<int, 5> indices{};
  std::array<exm_status_t, 5> statuses{};
  int ended = 0;
  while (ended < 2) {
    const int some = exm_waitsome(b, receives.data(), 5, indices.data(), statuses.data(), kWaitNs);
    BOOST_REQUIRE_GT(some, 0);
    ended += some;
  }
  BOOST_TEST(exm_testall(b, receives.data(), 5, statuses.data()) == 0);
  BOOST_TEST(receives[1] != 0U);
  BOOST_TEST(exm_waitall(b, receives.data(), 5, statuses.data(), 1'000'000) == -1);
  BOOST_TEST(errno == ETIMEDOUT);
  send(a, sent, 1, 1);
  BOOST_TEST(exm_waitall(b, receives.data(), 5, statuses.data(), kWaitNs) == 0);
  BOOST_TEST(text_of(statuses[1]) == "0/1/7: 8");
  BOOST_TEST(exm_waitany(b, receives.data(), 5, &index, &status, kWaitNs) == 0);
  BOOST_TEST(index == EXM_UNDEFINED);
  BOOST_TEST(exm_waitsome(b, receives.data(), 5, indices.data(), statuses.data(), kWaitNs) == 0);
}

BOOST_AUTO_TEST_CASE(a_peek_names_each_request_once) {
  std::vector<std::uint8_t> one(8), two(8);
  const exm_request_t first = irecv(b, one, 0, 1);
  const exm_request_t second = irecv(b, two, 0, 2);
  exm_request_t named = 0;
  BOOST_TEST(exm_peek(b, &named, 1'000'000) == -1);
  BOOST_TEST(errno == ETIMEDOUT);
  const auto sent = pattern(8, 12);
  send(a, sent, 1, 2);
  BOOST_REQUIRE_EQUAL(exm_peek(b, &named, kWaitNs), 0);
  BOOST_TEST(named == second);
  BOOST_TEST(exm_peek(b, &named, 1'000'000) == -1);
  send(a, sent, 1, 1);
  BOOST_REQUIRE_EQUAL(exm_peek(b, &named, kWaitNs), 0);
  BOOST_TEST(named == first);
  wait(b, first);
  wait(b, second);
}

// ---------------------------------------------------------------- oneself, threads, many

BOOST_AUTO_TEST_CASE(a_process_sends_to_itself) {
  for (const std::size_t bytes : {0UL, 100UL, 100'000UL}) {
    const auto sent = pattern(bytes, 13);
    std::vector<std::uint8_t> got(bytes);
    exm_request_t send = isend(a, sent, 0, 1);
    BOOST_TEST(wait(a, irecv(a, got, 0, 1)) == "0/1/7: " + std::to_string(bytes));
    wait(a, send);
    BOOST_TEST((got == sent));
    exm_request_t receive = irecv(a, got, EXM_ANY_SOURCE, 2);
    send = isend(a, sent, 0, 2, EXM_SYNC);
    wait(a, send);
    wait(a, receive);
  }
}

BOOST_AUTO_TEST_CASE(threads_share_an_endpoint) {
  constexpr int kThreads = 4;
  constexpr int kMessages = 200;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int tag = 0; tag < kThreads; ++tag) {
    threads.emplace_back([&, tag] {
      for (int i = 0; i < kMessages; ++i) {
        const auto sent = pattern(static_cast<std::size_t>(i) * 331, static_cast<unsigned>(tag));
        if (exm_send(a, sent.data(), sent.size(), 1, tag, 0, 0) != 0) return;
      }
    });
    threads.emplace_back([&, tag] {
      for (int i = 0; i < kMessages; ++i) {
        std::vector<std::uint8_t> got(static_cast<std::size_t>(i) * 331);
        if (exm_recv(b, got.data(), got.size(), 0, tag, 0, nullptr) != 0) return;
        if (got == pattern(got.size(), static_cast<unsigned>(tag))) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(right == kThreads * kMessages);
}

// More than the windows hold: what is too much stays with the sender, and every receive finds its message.
BOOST_AUTO_TEST_CASE(a_sender_is_held_up_before_memory_is_full) {
  constexpr int kMessages = 2'000;
  const auto sent = pattern(4'000, 14);
  std::vector<exm_request_t> sends;
  for (int i = 0; i < kMessages; ++i) sends.push_back(isend(a, sent, 1, i));
  exm_stats_t stats{};
  BOOST_TEST(exm_stats(b, &stats) == 0);
  BOOST_TEST(stats.unexpected_bytes <= (1U << 20U));
  std::vector<std::uint8_t> got(sent.size());
  for (int i = 0; i < kMessages; ++i)
    BOOST_REQUIRE(wait(b, irecv(b, got, 0, i)) == "0/" + std::to_string(i) + "/7: 4000");
  BOOST_TEST(exm_waitall(a, sends.data(), kMessages, nullptr, kWaitNs) == 0);
}

BOOST_AUTO_TEST_CASE(everybody_talks_to_everybody) {
  constexpr int kRanks = 5;
  Job all(kRanks);
  std::vector<std::thread> ranks;
  std::atomic<int> right{0};
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      std::vector<exm_request_t> requests(2 * kRanks);
      std::vector<int> out(kRanks), in(kRanks);
      for (int other = 0; other < kRanks; ++other) {
        const auto at = static_cast<std::size_t>(other);
        out[at] = 100 * rank + other;
        exm_isend(all[rank], &out[at], sizeof(int), other, 3, 0, 0, &requests[at]);
        exm_irecv(all[rank], &in[at], sizeof(int), other, 3, 0, &requests[kRanks + at]);
      }
      if (exm_waitall(all[rank], requests.data(), 2 * kRanks, nullptr, kWaitNs) != 0) return;
      for (int other = 0; other < kRanks; ++other)
        right += in[static_cast<std::size_t>(other)] == 100 * other + rank;
    });
  }
  for (std::thread& rank : ranks) rank.join();
  BOOST_TEST(right == kRanks * kRanks);
}

// ---------------------------------------------------------------- ends

BOOST_AUTO_TEST_CASE(what_was_sent_before_the_end_arrives) {
  for (const std::size_t bytes : {100UL, 100'000UL}) {
    Job two(2);
    const auto sent = pattern(bytes, 15);
    std::vector<std::uint8_t> got(bytes);
    exm_request_t receive = 0;
    if (bytes > 1000) BOOST_REQUIRE_EQUAL(exm_irecv(two[1], got.data(), bytes, 0, 5, 0, &receive), 0);
    exm_request_t send = 0;
    BOOST_REQUIRE_EQUAL(exm_isend(two[0], sent.data(), bytes, 1, 5, 0, 0, &send), 0);
    BOOST_TEST(two.finalize(0) == 0);
    if (receive == 0) BOOST_REQUIRE_EQUAL(exm_irecv(two[1], got.data(), bytes, 0, 5, 0, &receive), 0);
    BOOST_TEST(exm_wait(two[1], &receive, nullptr, kWaitNs) == 0);
    BOOST_TEST((got == sent));
  }
}

// shows: exm_send EPIPE, exm_recv EPIPE, exm_probe EPIPE, exm_mprobe EPIPE
BOOST_AUTO_TEST_CASE(a_rank_that_has_left_is_none_to_talk_to) {
  Job three(3);
  std::uint8_t byte = 1;
  BOOST_REQUIRE_EQUAL(exm_send(three[0], &byte, 1, 1, 5, 0, 0), 0);
  BOOST_REQUIRE_EQUAL(exm_recv(three[1], &byte, 1, 0, 5, 0, nullptr), 0);
  exm_request_t named = 0;
  exm_request_t anybody = 0;
  std::uint8_t ones = 0, others = 0;
  BOOST_REQUIRE_EQUAL(exm_irecv(three[1], &ones, 1, 0, 6, 0, &named), 0);
  BOOST_REQUIRE_EQUAL(exm_irecv(three[1], &others, 1, EXM_ANY_SOURCE, 6, 0, &anybody), 0);
  BOOST_TEST(three.finalize(0) == 0);
  BOOST_TEST(exm_wait(three[1], &named, nullptr, kWaitNs) == -1);
  BOOST_TEST(errno == EPIPE);
  BOOST_TEST(exm_send(three[1], &byte, 1, 0, 5, 0, 0) == -1);
  BOOST_TEST(errno == EPIPE);
  BOOST_TEST(exm_recv(three[1], &byte, 1, 0, 5, 0, nullptr) == -1);
  BOOST_TEST(errno == EPIPE);
  exm_message_t message = 0;
  BOOST_TEST(exm_probe(three[1], 0, 5, 0, nullptr, kWaitNs) == -1);
  BOOST_TEST(errno == EPIPE);
  BOOST_TEST(exm_mprobe(three[1], 0, 5, 0, &message, nullptr, kWaitNs) == -1);
  BOOST_TEST(errno == EPIPE);
  BOOST_TEST(exm_failed(three[1], nullptr, 0) == 0);
  BOOST_TEST(exm_test(three[1], &anybody, nullptr) == 0);
  BOOST_REQUIRE_EQUAL(exm_send(three[2], &byte, 1, 1, 6, 0, 0), 0);
  BOOST_TEST(exm_wait(three[1], &anybody, nullptr, kWaitNs) == 0);
}

BOOST_AUTO_TEST_CASE(a_stranger_is_turned_away) {
  std::uint8_t key = 0;
  Job strangers(2, [&](exm_config_t& config) { config.key[0] = key++; });
  std::uint8_t byte = 1;
  BOOST_TEST(exm_send(strangers[0], &byte, 1, 1, 5, 0, EXM_SYNC) == -1);
  BOOST_TEST(errno == ECONNRESET);
  int failed = 0;
  BOOST_TEST(exm_failed(strangers[0], &failed, 1) == 1);
  BOOST_TEST(failed == 1);
}

// ---------------------------------------------------------------- what is refused

// shows: exm_send EINVAL, exm_recv EINVAL, exm_isendv EINVAL, exm_cancel EINVAL, exm_free EINVAL, exm_mrecv EINVAL, exm_init EINVAL,
// exm_set_label EINVAL
BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused) {
  std::uint8_t byte = 0;
  exm_request_t request = 0;
  exm_message_t message = 0;
  const auto refused = [](int outcome) { return outcome == -1 && errno == EINVAL; };
  BOOST_TEST(refused(exm_send(a, &byte, 1, 2, 0, 0, 0)));
  BOOST_TEST(refused(exm_send(a, &byte, 1, -1, 0, 0, 0)));
  BOOST_TEST(refused(exm_send(a, &byte, 1, 1, EXM_ANY_TAG, 0, 0)));
  BOOST_TEST(refused(exm_send(a, &byte, 1, 1, 0, -1, 0)));
  BOOST_TEST(refused(exm_send(a, &byte, 1, 1, 0, 0, 2)));
  BOOST_TEST(refused(exm_send(a, nullptr, 1, 1, 0, 0, 0)));
  BOOST_TEST(refused(exm_irecv(a, &byte, 1, 2, 0, 0, &request)));
  BOOST_TEST(refused(exm_irecv(a, &byte, 1, 0, 0, -1, &request)));
  BOOST_TEST(refused(exm_irecvv(a, nullptr, 1025, 0, 0, 0, &request)));
  request = 12345;
  BOOST_TEST(refused(exm_wait(a, &request, nullptr, 0)));
  BOOST_TEST(request == 12345U);
  BOOST_TEST(refused(exm_cancel(a, 12345)));
  BOOST_TEST(refused(exm_free(a, &request)));
  const exs_iovec_t piece{&byte, 1, EXS_MHANDLE_UNREGISTERED, 0};
  BOOST_TEST(refused(exm_isendv(a, &piece, 1, 7, 0, 0, 0, &request)));
  message = 99;
  BOOST_TEST(refused(exm_mrecv(a, &byte, 1, &message, nullptr)));
  for (const char* label : {"sixteen letters.", "two\nlines"}) BOOST_TEST(refused(exm_set_label(a, label)));
  const auto null = [](int outcome) { return outcome == -1 && errno == EFAULT; };
  BOOST_TEST(null(exm_isend(a, &byte, 1, 1, 0, 0, 0, nullptr)));
  BOOST_TEST(null(exm_irecvv(a, nullptr, 1, 0, 0, 0, &request)));
  BOOST_TEST(null(exm_rank(nullptr)));
  BOOST_TEST(null(exm_set_label(a, nullptr)));
  request = 0;
  BOOST_TEST(exm_wait(a, &request, nullptr, 0) == 0);
  exm_ep_t ep = nullptr;
  exm_config_t config{};
  BOOST_TEST(refused(exm_init(&config, &ep)));
  config.struct_bytes = sizeof config;
  BOOST_TEST(refused(exm_init(&config, &ep)));
  const char* const nowhere[] = {"nowhere", "127.0.0.1:1"};
  config.size = 2;
  config.addresses = nowhere;
  BOOST_TEST(refused(exm_init(&config, &ep)));
}

BOOST_AUTO_TEST_CASE(a_job_of_one) {
  exm_ep_t ep = nullptr;
  BOOST_REQUIRE_EQUAL(exm_init(nullptr, &ep), 0);
  BOOST_TEST(exm_rank(ep) == 0);
  BOOST_TEST(exm_size(ep) == 1);
  std::uint8_t byte = 7;
  std::uint8_t got = 0;
  BOOST_TEST(exm_send(ep, &byte, 1, 0, 1, 0, 0) == 0);
  BOOST_TEST(exm_recv(ep, &got, 1, EXM_ANY_SOURCE, EXM_ANY_TAG, 0, nullptr) == 0);
  BOOST_TEST(int{got} == 7);
  BOOST_TEST(exm_finalize(ep) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
