// Handles that outlive their object, and threads that race for one.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/handle_table.h"
#include "tests/support/property.h"

#include <algorithm>
#include <limits>
#include <map>
#include <thread>

#include <boost/test/unit_test.hpp>

using exs::HandleTable;

BOOST_AUTO_TEST_SUITE(handle_table_test)

BOOST_AUTO_TEST_CASE(what_can_be_found_can_be_peeked_at) {
  exs::HandleTable<int> table;
  const auto object = std::make_shared<int>(7);
  const int handle = table.insert(object);
  const exs::ReadSection section;
  BOOST_TEST(table.peek(handle) == object.get());
  BOOST_TEST(table.peek(0) == nullptr);
  BOOST_TEST(table.peek(-1) == nullptr);
  BOOST_TEST(table.peek(handle + 1) == nullptr);
  BOOST_TEST(table.peek(handle + (1 << exs::HandleTable<int>::kIndexBits)) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_stale_handle_finds_nobody_by_peeking) {
  exs::HandleTable<int> table;
  const int first = table.insert(std::make_shared<int>(1));
  table.remove(first);
  const auto object = std::make_shared<int>(2);
  const int second = table.insert(object);
  const exs::ReadSection section;
  BOOST_TEST(table.peek(first) == nullptr);
  BOOST_TEST(table.peek(second) == object.get());
}

BOOST_AUTO_TEST_CASE(handle_finds_its_object_until_removed) {
  HandleTable<int> table;
  const auto object = std::make_shared<int>(5);
  const int handle = table.insert(object);
  BOOST_TEST(handle > 0);
  BOOST_TEST(table.find(handle) == object);
  BOOST_TEST(table.remove(handle) == object);
  BOOST_TEST(table.find(handle) == nullptr);
  BOOST_TEST(table.remove(handle) == nullptr);
}

BOOST_AUTO_TEST_CASE(stale_handle_never_finds_the_next_object_of_its_slot) {
  HandleTable<int> table;
  const int first = table.insert(std::make_shared<int>(1));
  table.remove(first);
  // More objects through the same slot than there are generations: only the very same number may come again.
  for (std::uint32_t i = 0; i < HandleTable<int>::kGenerations - 2; ++i) {
    const int next = table.insert(std::make_shared<int>(2));
    if (next == first || table.find(first) != nullptr || next <= 0)
      BOOST_FAIL("handle came again after " << i);
    table.remove(next);
  }
}

BOOST_AUTO_TEST_CASE(tables_of_two_kinds_never_give_out_the_same_handle) {
  HandleTable<int> queues(0), regions(1);
  for (std::uint32_t i = 0; i < 2 * HandleTable<int>::kGenerations; ++i) {
    const int queue = queues.insert(std::make_shared<int>(1));
    const int region = regions.insert(std::make_shared<int>(2));
    if (queue <= 0 || region <= 0 || queues.find(region) != nullptr || regions.find(queue) != nullptr)
      BOOST_FAIL("handles " << queue << " and " << region << " after " << i);
    queues.remove(queue);
    regions.remove(region);
  }
}

BOOST_AUTO_TEST_CASE(numbers_never_given_out_find_nothing) {
  HandleTable<int> table;
  const int handle = table.insert(std::make_shared<int>(1));
  for (const int number : {0, -1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max(),
                           handle + 1, handle ^ (1 << 20), 1 << 15}) {
    BOOST_TEST(table.find(number) == nullptr);
    BOOST_TEST(table.remove(number) == nullptr);
  }
}

BOOST_AUTO_TEST_CASE(full_table_says_so_and_recovers) {
  HandleTable<int> table;
  const auto object = std::make_shared<int>(1);
  int last = 0;
  for (int handle = table.insert(object); handle != 0; handle = table.insert(object)) last = handle;
  BOOST_TEST(table.handles().size() == HandleTable<int>::kIndexMask + 1);
  BOOST_TEST(table.remove(last) == object);
  BOOST_TEST(table.insert(object) > 0);
  BOOST_TEST(table.insert(object) == 0);
}

BOOST_AUTO_TEST_CASE(behaves_as_a_map) {
  const bool held = exs::test::holds("any sequence of inserts and removals", [] {
    const std::vector<std::uint8_t> steps = exs::test::draw_bytes();
    HandleTable<int> table;
    std::map<int, std::shared_ptr<int>> model;
    for (const std::uint8_t step : steps) {
      if (step < 160 || model.empty()) {
        const auto object = std::make_shared<int>(step);
        const int handle = table.insert(object);
        EXS_HOLD(handle > 0);
        EXS_HOLD(model.emplace(handle, object).second);
      } else {
        const auto victim = std::next(model.begin(), step % static_cast<std::ptrdiff_t>(model.size()));
        EXS_HOLD(table.remove(victim->first) == victim->second);
        model.erase(victim);
      }
      for (const auto& [handle, object] : model) EXS_HOLD(table.find(handle) == object);
      EXS_HOLD(table.handles().size() == model.size());
    }
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(of_many_removers_one_gets_the_object) {
  HandleTable<int> table;
  std::atomic<int> winners{0};
  for (int round = 0; round < 200; ++round) {
    const int handle = table.insert(std::make_shared<int>(round));
    const auto remove = [&] {
      if (table.remove(handle) != nullptr) ++winners;
    };
    std::thread other(remove);
    remove();
    other.join();
  }
  BOOST_TEST(winners == 200);
}

BOOST_AUTO_TEST_SUITE_END()
