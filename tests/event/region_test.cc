// Region: bounds, uses, and the end of a region.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "event/queue/region.h"
#include "tests/event/fake_port.h"

namespace exs::test {
namespace region_test {

struct Fixture {
  std::byte bytes[16] = {};
  std::shared_ptr<Region> region =
      std::make_shared<Region>(std::span(bytes).subspan(4, 8), Access::kRemoteRead, MemoryKey{1}, false);
};

}  // namespace region_test

BOOST_FIXTURE_TEST_SUITE(region_test, Fixture)

BOOST_AUTO_TEST_CASE(a_range_lies_inside_to_the_last_byte) {
  BOOST_TEST(region->contains(bytes + 4, 8));
  BOOST_TEST(region->contains(bytes + 11, 1));
  BOOST_TEST(region->contains(bytes + 12, 0));
  BOOST_TEST(!region->contains(bytes + 3, 1));
  BOOST_TEST(!region->contains(bytes + 4, 9));
  BOOST_TEST(!region->contains(bytes + 12, 1));
  BOOST_TEST(!region->contains(bytes + 5, SIZE_MAX));
  BOOST_TEST(!region->contains(nullptr, 1));
  BOOST_TEST(!region->contains(nullptr, SIZE_MAX));
}

BOOST_AUTO_TEST_CASE(a_region_in_use_does_not_retire_and_a_retired_one_is_not_used) {
  BOOST_TEST(region->use());
  BOOST_TEST(region->use());
  BOOST_TEST(!region->retire());
  region->release();
  BOOST_TEST(!region->retire());
  region->release();
  BOOST_TEST(region->retire());
  BOOST_TEST(!region->use());
  BOOST_TEST(!region->retire());
  BOOST_TEST(!region->retire_when_idle());
}

BOOST_AUTO_TEST_CASE(of_all_who_wait_for_idleness_one_retires_it) {
  constexpr int kUses = 100;
  for (int i = 0; i < kUses; ++i) BOOST_REQUIRE(region->use());
  std::atomic<int> retired{0};
  std::vector<std::thread> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back([&] {
      if (region->retire_when_idle()) ++retired;
    });
  }
  for (int i = 0; i < kUses; ++i) region->release();
  for (std::thread& thread : waiting) thread.join();
  BOOST_TEST(retired == 1);
  BOOST_TEST(!region->use());
}

// As the holder of a drive lock counts.
BOOST_AUTO_TEST_CASE(uses_of_a_shard_count_with_all_others) {
  ShardFixture owner;
  ShardFixture other;
  const auto use = [&](ShardFixture& by) {
    bool used = false;
    by.execute([&](Shard& shard) { used = region->use_here(shard); });
    return used;
  };
  const auto release = [&](ShardFixture& by) {
    by.execute([&](Shard& shard) { region->release_here(shard); });
  };
  BOOST_TEST(use(owner));
  BOOST_TEST(!use(other));  // the first shard alone counts so
  BOOST_TEST(region->use());
  BOOST_TEST(!region->retire());
  // It does not matter which of the uses ends where.
  release(other);
  BOOST_TEST(!region->retire());
  BOOST_TEST(region->use());
  release(owner);
  release(owner);
  BOOST_TEST(region->retire());
  BOOST_TEST(!use(owner));
  BOOST_TEST(!region->use());
}

BOOST_AUTO_TEST_CASE(who_waits_for_idleness_waits_for_the_uses_of_a_shard) {
  ShardFixture owner;
  bool used = false;
  owner.execute([&](Shard& shard) { used = region->use_here(shard) && region->use_here(shard); });
  BOOST_REQUIRE(used);
  std::atomic<bool> retired{false};
  std::thread waiting([&] { retired = region->retire_when_idle(); });
  owner.execute([&](Shard& shard) { region->release_here(shard); });
  BOOST_TEST(!retired);
  owner.execute([&](Shard& shard) { region->release_here(shard); });
  waiting.join();
  BOOST_TEST(retired);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
