// Groups of ranks: a context of their own, and barriers. Holds for every provider.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/msg.h>

#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/support/exs_fixture.h"
#include "tests/support/job.h"

namespace exs::test {
namespace tags_groups_test {

constexpr int kTag = 5;
constexpr int kContext = 0;

// Runs body(index) in a thread for each, and waits for all.
void together(int count, const std::function<void(int)>& body) {
  std::deque<WaitingThread> threads;
  for (int index = 0; index < count; ++index) threads.emplace_back([&body, index] { body(index); });
}

std::vector<int> all_of(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// The groups that the ranks of the list make, and how each call ended.
struct Groups {
  std::vector<exm_group_t> made;
  std::vector<std::string> outcomes;

  Groups(const Job& job, const std::vector<int>& ranks, int tag = kTag)
      : made(ranks.size()), outcomes(ranks.size()) {
    together(static_cast<int>(ranks.size()), [&](int place) {
      const auto at = static_cast<std::size_t>(place);
      outcomes[at] = outcome(exm_group_create(job[ranks[at]], ranks.data(), static_cast<int>(ranks.size()),
                                              kContext, tag, &made[at]));
    });
  }
  [[nodiscard]] bool all_ok() const {
    return std::set(outcomes.begin(), outcomes.end()) == std::set{std::string("ok")};
  }
};

void exchange_word(exm_ep_t from, exm_ep_t to) {
  BOOST_REQUIRE_EQUAL(exm_send(from, nullptr, 0, exm_rank(to), 1, kContext, 0), 0);
  BOOST_REQUIRE_EQUAL(exm_recv(to, nullptr, 0, exm_rank(from), 1, kContext, nullptr), 0);
}

}  // namespace tags_groups_test

BOOST_AUTO_TEST_SUITE(tags_groups_test)

BOOST_AUTO_TEST_CASE(all_ranks_of_a_group_get_the_same_context_and_a_place) {
  Job job(7);
  std::set<std::int32_t> contexts;
  const std::vector<std::vector<int>> lists = {{3}, {0, 1}, {1, 0}, {6, 2, 4}, all_of(7), {5, 4, 3, 2, 1, 0},
                                               {3}};
  for (const std::vector<int>& ranks : lists) {
    const Groups groups(job, ranks);
    BOOST_REQUIRE(groups.all_ok());
    contexts.insert(groups.made[0].context);
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      const exm_group_t& group = groups.made[place];
      BOOST_TEST(group.context == groups.made[0].context);
      BOOST_TEST(group.context >= 1 << 30);
      BOOST_TEST(group.rank == static_cast<int>(place));
      BOOST_TEST(group.size == static_cast<int>(ranks.size()));
      BOOST_TEST(group.ranks == ranks.data());
    }
  }
  BOOST_TEST(contexts.size() == lists.size());
}

BOOST_AUTO_TEST_CASE(messages_of_a_group_are_its_own) {
  Job job(2);
  const std::vector<int> ranks = {0, 1};
  const Groups groups(job, ranks);
  BOOST_REQUIRE(groups.all_ok());
  const int context = groups.made[0].context;
  BOOST_TEST(exm_send(job[0], "a", 1, 1, 0, kContext, 0) == 0);
  BOOST_TEST(exm_send(job[0], "b", 1, 1, 0, context, 0) == 0);
  together(2, [&](int rank) { exm_group_barrier(job[rank], &groups.made[static_cast<std::size_t>(rank)]); });
  char got = 0;
  BOOST_TEST(exm_recv(job[1], &got, 1, EXM_ANY_SOURCE, EXM_ANY_TAG, context, nullptr) == 0);
  BOOST_TEST(got == 'b');
  BOOST_TEST(exm_iprobe(job[1], EXM_ANY_SOURCE, EXM_ANY_TAG, context, nullptr) == 0);
  BOOST_TEST(exm_recv(job[1], &got, 1, EXM_ANY_SOURCE, EXM_ANY_TAG, kContext, nullptr) == 0);
  BOOST_TEST(got == 'a');
}

// Of two that are made at the same time each has its own, wherever their ranks meet.
BOOST_AUTO_TEST_CASE(groups_may_be_made_at_the_same_time) {
  Job job(3);
  constexpr int kRounds = 20;
  const std::vector<std::vector<int>> lists = {{0, 1}, {1, 2}, {2, 0}, {0, 1, 2}};
  std::vector<std::vector<exm_group_t>> made(lists.size() * kRounds);
  struct Call {
    std::size_t list, place;
  };
  std::vector<Call> calls;
  for (std::size_t list = 0; list < lists.size(); ++list) {
    for (std::size_t place = 0; place < lists[list].size(); ++place) calls.push_back({list, place});
    for (std::size_t round = 0; round < kRounds; ++round)
      made[list * kRounds + round].resize(lists[list].size());
  }
  together(static_cast<int>(calls.size()), [&](int index) {
    const auto [list, place] = calls[static_cast<std::size_t>(index)];
    const std::vector<int>& ranks = lists[list];
    for (std::size_t round = 0; round < kRounds; ++round)
      exm_group_create(job[ranks[place]], ranks.data(), static_cast<int>(ranks.size()), kContext,
                       static_cast<int>(list), &made[list * kRounds + round][place]);
  });
  std::set<std::int32_t> contexts;
  for (const std::vector<exm_group_t>& groups : made) {
    contexts.insert(groups[0].context);
    for (const exm_group_t& group : groups) BOOST_TEST(group.context == groups[0].context);
  }
  BOOST_TEST(contexts.size() == made.size());
  BOOST_TEST(*contexts.begin() >= 1 << 30);
}

BOOST_AUTO_TEST_CASE(nobody_passes_a_barrier_before_all_have_come) {
  constexpr int kSize = 5;
  Job job(kSize);
  const std::vector<int> ranks = all_of(kSize);
  const Groups groups(job, ranks);
  BOOST_REQUIRE(groups.all_ok());
  std::atomic<int> passed{0};
  for (int last = 0; last < kSize; ++last) {
    passed = 0;
    const auto pass = [&](int rank) {
      if (exm_group_barrier(job[rank], &groups.made[static_cast<std::size_t>(rank)]) == 0) ++passed;
    };
    std::deque<WaitingThread> others;
    for (int rank = 0; rank < kSize; ++rank) {
      if (rank == last) continue;
      others.emplace_back([&pass, rank] { pass(rank); });
    }
    for (const WaitingThread& other : others) other.await_sleep();
    BOOST_TEST(passed == 0);
    pass(last);
    for (WaitingThread& other : others) other.join();
    BOOST_TEST(passed == kSize);
  }
}

BOOST_AUTO_TEST_CASE(barriers_follow_each_other) {
  constexpr int kSize = 4;
  constexpr int kRounds = 100;
  Job job(kSize);
  const std::vector<int> ranks = all_of(kSize);
  const Groups groups(job, ranks);
  std::array<std::atomic<int>, kRounds> come{};
  std::atomic<int> early{0};
  together(kSize, [&](int rank) {
    for (std::atomic<int>& here : come) {
      ++here;
      if (exm_group_barrier(job[rank], &groups.made[static_cast<std::size_t>(rank)]) != 0 || here != kSize)
        ++early;
    }
  });
  BOOST_TEST(early == 0);
}

// shows: exm_group_create EINVAL, exm_group_barrier EINVAL
BOOST_AUTO_TEST_CASE(what_is_no_group_is_refused_and_nobody_hears_of_it) {
  Job job(3);
  exm_group_t group{};
  group.context = 7;
  const auto create = [&](const std::vector<int>& ranks, int parent = kContext, int tag = kTag) {
    return outcome(
        exm_group_create(job[1], ranks.data(), static_cast<int>(ranks.size()), parent, tag, &group));
  };
  const std::vector<std::vector<int>> wrong = {{},      {0},    {0, 2},    {1, 3},
                                               {-1, 1}, {1, 1}, {1, 0, 1}, {0, 1, 2, 2}};
  for (const std::vector<int>& ranks : wrong) BOOST_TEST(create(ranks) == "EINVAL");
  BOOST_TEST(create({0, 1}, -1) == "EINVAL");
  BOOST_TEST(create({0, 1}, kContext, EXM_ANY_TAG) == "EINVAL");
  BOOST_TEST(outcome(exm_group_create(job[1], nullptr, 2, kContext, kTag, &group)) == "EFAULT");
  BOOST_TEST(outcome(exm_group_create(job[1], &group.rank, 1, kContext, kTag, nullptr)) == "EFAULT");
  BOOST_TEST(outcome(exm_group_create(nullptr, &group.rank, 1, kContext, kTag, &group)) == "EFAULT");
  BOOST_TEST(group.context == 7);
  BOOST_TEST(outcome(exm_group_barrier(job[1], &group)) == "EINVAL");
  BOOST_TEST(outcome(exm_group_barrier(job[1], nullptr)) == "EFAULT");
  const std::vector<int> ranks = {0, 2};
  const Groups of_others(job, ranks);
  BOOST_TEST(outcome(exm_group_barrier(job[1], of_others.made.data())) == "EINVAL");
  exm_stats_t stats{};
  BOOST_TEST(exm_stats(job[1], &stats) == 0);
  BOOST_TEST(stats.sends == 0U);
}

// shows: exm_group_create EPROTO, exm_group_barrier EPROTO
BOOST_AUTO_TEST_CASE(a_message_of_another_kind_is_told_to_all) {
  Job job(3);
  const std::vector<int> ranks = all_of(3);
  BOOST_TEST(exm_send(job[1], "x", 1, 0, kTag, kContext, 0) == 0);
  const Groups stray(job, ranks);
  for (const std::string& told : stray.outcomes) BOOST_TEST(told == "EPROTO");
  char word[8];
  BOOST_TEST(exm_recv(job[0], word, sizeof word, 1, kTag, kContext, nullptr) == 0);  // that of rank 1
  const Groups groups(job, ranks);
  BOOST_REQUIRE(groups.all_ok());
  BOOST_TEST(exm_send(job[1], "x", 1, 0, 0, groups.made[0].context + 1, 0) == 0);
  together(3, [&](int rank) {
    const exm_group_t& group = groups.made[static_cast<std::size_t>(rank)];
    const std::string told = outcome(exm_group_barrier(job[rank], &group));
    if (told != "EPROTO") BOOST_ERROR("rank " << rank << ": " << told);
  });
}

// shows: exm_group_create EPIPE, exm_group_barrier EPIPE
BOOST_AUTO_TEST_CASE(a_rank_that_has_left_is_told_to_all) {
  Job job(4);
  const std::vector<int> ranks = all_of(4);
  const Groups groups(job, ranks);
  BOOST_REQUIRE(groups.all_ok());
  exchange_word(job[2], job[0]);
  BOOST_TEST(job.finalize(2) == 0);
  BOOST_TEST(outcome(exm_recv(job[0], nullptr, 0, 2, 99, kContext, nullptr)) == "EPIPE");
  together(3, [&](int index) {
    const int rank = index < 2 ? index : 3;
    exm_group_t group{};
    const std::string barrier =
        outcome(exm_group_barrier(job[rank], &groups.made[static_cast<std::size_t>(rank)]));
    const std::string create = outcome(exm_group_create(job[rank], ranks.data(), 4, kContext, kTag, &group));
    if (barrier != "EPIPE" || create != "EPIPE")
      BOOST_ERROR("rank " << rank << ": " << barrier << " " << create);
  });
}

// shows: exm_group_create ECONNRESET, exm_group_barrier ECONNRESET
BOOST_AUTO_TEST_CASE(a_rank_that_has_died_is_told_to_all) {
  const JobPorts ports(3);
  const auto impatient = [](exm_config_t& config) { config.connect_timeout_ms = 300; };
  const std::array<exm_ep_t, 2> living = {ports.join(0, impatient), ports.join(1, impatient)};
  for (const std::vector<int>& ranks :
       {std::vector<int>{2, 0, 1}, std::vector<int>{0, 2, 1}, std::vector<int>{0, 1, 2}}) {
    BOOST_TEST(outcome(exm_send(living[0], nullptr, 0, 2, 1, kContext, 0)) == "ECONNRESET");
    together(2, [&](int rank) {
      const exm_ep_t ep = living[static_cast<std::size_t>(rank)];
      exm_group_t group{};
      group.ranks = ranks.data();
      group.size = 3;
      group.context = 1 << 30;
      while (ranks[static_cast<std::size_t>(group.rank)] != rank) ++group.rank;
      const std::string create = outcome(exm_group_create(ep, ranks.data(), 3, kContext, kTag, &group));
      const std::string barrier = outcome(exm_group_barrier(ep, &group));
      if (create != "ECONNRESET" || barrier != "ECONNRESET")
        BOOST_ERROR("rank " << rank << ": " << create << " " << barrier);
    });
  }
  for (const exm_ep_t ep : living) BOOST_TEST(exm_finalize(ep) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
