// LateWatch and PostTimes: which operations are late, and when that is told.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>
#include <vector>

#include "event/session/time_limit.h"
#include "tests/event/fake_port.h"
#include "tests/support/property.h"

namespace exs::test {
namespace time_limit_test {

constexpr std::uint64_t kLimitNs = 100;

class Operations final : public LateOperations {
 public:
  bool end_late(proto::Direction, std::uint64_t until_ns) override {
    ended_until.push_back(until_ns);
    return false;
  }
  void contain_report(const std::function<void()>& report) override { report(); }
  std::vector<std::uint64_t> ended_until;
};

struct Fixture : ShardFixture {
  std::shared_ptr<EventQueue> queue = std::make_shared<EventQueue>(4, shard);
  std::shared_ptr<KernelDescriptor> number = KernelDescriptor::own(UniqueFd());
  std::shared_ptr<int> owner = std::make_shared<int>(0);
  Operations operations;
  LateWatch watch{*shard, operations, proto::Direction::kReceive};

  void limit(std::uint32_t flags = 0) {
    TimeLimitWish wish;
    wish.timeout = {.ns = kLimitNs, .flags = flags, .queue = {}, .handle = this};
    wish.queue = queue;
    auto made = TimeLimit::create(wish, proto::Direction::kReceive, number);
    BOOST_REQUIRE(made != nullptr);
    shard->carry_out([&] { watch.set(std::move(made), owner); });
  }
  void post(std::uint64_t at_ns) {
    shard->carry_out([&] { watch.posted(at_ns, owner); });
  }
  void end(std::uint64_t posted_ns) {
    shard->carry_out([&] { watch.ended(posted_ns); });
  }
  // Late operations that a notice tells of at that time; 0: none is there.
  std::uint32_t told_at(std::uint64_t now_ns) {
    shard->drive(now_ns, true);
    exs_event_t event{};
    if (queue->take(&event, 1, 1) == 0) return 0;
    BOOST_TEST(event.exs_evt_type == EXS_EVT_RECVTIMEOUT);
    BOOST_TEST(event.exs_evt_ahandle == this);
    BOOST_TEST(queue->take(&event, 1, 1) == 0U);
    return event.exs_evt_union.exs_evt_xfer.exs_evt_count;
  }
};

}  // namespace time_limit_test

BOOST_FIXTURE_TEST_SUITE(time_limit_test, Fixture)

BOOST_AUTO_TEST_CASE(a_late_operation_is_told_again_and_again) {
  limit();
  post(1000);
  BOOST_TEST(told_at(1099) == 0U);
  BOOST_TEST(told_at(1100) == 1U);
  BOOST_TEST(told_at(1199) == 0U);
  BOOST_TEST(told_at(1200) == 1U);
  end(1000);
  BOOST_TEST(told_at(5000) == 0U);
}

BOOST_AUTO_TEST_CASE(once_means_once_for_each_operation) {
  limit(EXS_TIMEOUT_ONCE);
  post(1000);
  post(1050);
  BOOST_TEST(told_at(1100) == 1U);
  BOOST_TEST(told_at(1149) == 0U);
  BOOST_TEST(told_at(1150) == 2U);
  BOOST_TEST(told_at(3000) == 0U);
  post(4000);
  end(1000);
  BOOST_TEST(told_at(4100) == 2U);
  BOOST_TEST(told_at(9000) == 0U);
}

BOOST_AUTO_TEST_CASE(operations_that_end_in_time_are_not_told) {
  limit();
  for (std::uint64_t at_ns = 1000; at_ns < 3000; at_ns += 10) {
    post(at_ns);
    if (at_ns > 1000) end(at_ns - 10);
    BOOST_TEST(told_at(at_ns + 1) == 0U);
  }
}

BOOST_AUTO_TEST_CASE(notices_that_wait_tell_the_latest_count) {
  limit();
  post(1000);
  post(1000);
  post(1150);
  shard->drive(1100, true);
  shard->drive(1200, true);
  end(1000);
  BOOST_TEST(told_at(1250) == 2U);  // of three, one has ended
}

BOOST_AUTO_TEST_CASE(cancel_names_those_that_are_late) {
  limit(EXS_TIMEOUT_CANCEL);
  post(1000);
  post(1030);
  BOOST_TEST(told_at(1100) == 1U);
  BOOST_TEST(operations.ended_until == std::vector<std::uint64_t>{1000}, boost::test_tools::per_element());
  end(1000);
  BOOST_TEST(told_at(1130) == 1U);
  BOOST_TEST(operations.ended_until.back() == 1030U);
}

BOOST_AUTO_TEST_CASE(the_slot_is_held_while_the_limit_stands) {
  BOOST_TEST(queue->reserved() == 0U);
  limit();
  BOOST_TEST(queue->reserved() == 1U);
  limit();
  BOOST_TEST(queue->reserved() == 1U);
  shard->carry_out([&] { watch.set(nullptr, owner); });
  BOOST_TEST(queue->reserved() == 0U);
}

BOOST_AUTO_TEST_CASE(without_a_limit_operations_still_may_end) {
  limit();
  post(1000);
  post(1001);
  shard->carry_out([&] { watch.set(nullptr, owner); });
  post(1002);  // was on its way when the limit went
  BOOST_TEST(told_at(5000) == 0U);
  limit();  // those are watched again
  BOOST_TEST(told_at(6000) == 3U);
  for (const std::uint64_t at_ns : {1001U, 1002U, 1000U}) end(at_ns);
  BOOST_TEST(told_at(7000) == 0U);
}

BOOST_AUTO_TEST_CASE(an_owner_that_died_hears_nothing) {
  limit();
  post(1000);
  owner.reset();
  BOOST_TEST(told_at(2000) == 0U);
}

BOOST_AUTO_TEST_CASE(post_times_count_like_a_set) {
  BOOST_TEST(exs::test::holds("any order of posts and ends", [] {
    PostTimes times;
    std::multiset<std::uint64_t> model;
    std::vector<std::uint64_t> open;
    std::uint64_t latest_ns = 0;
    for (int step = 0; step < 60; ++step) {
      if (open.empty() || exs::test::draw(0, 3) > 0) {
        const auto posted_ns = latest_ns + static_cast<std::uint64_t>(exs::test::draw(1, 4));
        latest_ns = posted_ns;
        times.add(posted_ns);
        open.push_back(posted_ns);
        model.insert(posted_ns);
      } else {
        const auto index = exs::test::draw<std::size_t>(0, open.size());
        times.remove(open[index]);
        model.erase(model.find(open[index]));
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
      }
      const auto ns = static_cast<std::uint64_t>(exs::test::draw<int>(0, static_cast<int>(latest_ns) + 2));
      const auto after = model.upper_bound(ns);
      EXS_HOLD(times.first_after(ns) == (after == model.end() ? PostTimes::kNone : *after));
      EXS_HOLD(times.count_until(ns) ==
               static_cast<std::uint32_t>(std::distance(model.begin(), model.upper_bound(ns))));
      EXS_HOLD(times.empty() == model.empty());
    }
  }));
}

BOOST_AUTO_TEST_CASE(posts_that_overtook_each_other_all_come_out_again) {
  BOOST_TEST(exs::test::holds("none is lost", [] {
    PostTimes times;
    std::vector<std::uint64_t> open;
    for (std::uint64_t step = 0; step < 60; ++step) {
      if (open.empty() || exs::test::draw(0, 3) > 0) {
        open.push_back(1000 + step * 2 - static_cast<std::uint64_t>(exs::test::draw(0, 9)));
        times.add(open.back());
      } else {
        const auto index = exs::test::draw<std::size_t>(0, open.size());
        times.remove(open[index]);
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
      }
      EXS_HOLD(times.count_until(UINT64_MAX - 1) == open.size());
    }
    for (const std::uint64_t posted_ns : open) times.remove(posted_ns);
    EXS_HOLD(times.empty());
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
