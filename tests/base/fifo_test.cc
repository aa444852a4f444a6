// The ring against std::deque, and its edges: growth while wrapped, indexing, moved-out slots.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/fifo.h"
#include "tests/support/property.h"

#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include <boost/test/unit_test.hpp>

using exs::Fifo;

BOOST_AUTO_TEST_SUITE(fifo_test)

BOOST_AUTO_TEST_CASE(new_fifo_is_empty) {
  const Fifo<int> queue;
  BOOST_TEST(queue.empty());
  BOOST_TEST(queue.count() == 0U);
}

BOOST_AUTO_TEST_CASE(what_goes_in_first_comes_out_first) {
  Fifo<int> queue;
  for (int i = 0; i < 100; ++i) BOOST_TEST(queue.push_back(i) == i);
  BOOST_TEST(queue.count() == 100U);
  BOOST_TEST(queue.front() == 0);
  BOOST_TEST(queue.back() == 99);
  for (int i = 0; i < 100; ++i) BOOST_TEST(queue.pop_front() == i);
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(what_is_filled_in_place_keeps_its_order_and_is_dropped_without_a_copy) {
  Fifo<int> queue;
  for (int i = 0; i < 20; ++i) {
    queue.append() = i;
    queue.append() = i + 100;
    BOOST_TEST(queue.front() == (i % 2 == 0 ? i / 2 : i / 2 + 100));
    queue.drop_front();
  }
  BOOST_TEST(queue.count() == 20U);
  BOOST_TEST(queue.back() == 119);
}

BOOST_AUTO_TEST_CASE(growth_keeps_the_order_of_a_wrapped_ring) {
  Fifo<int> queue;
  for (int i = 0; i < 8; ++i) queue.push_back(i);  // a size of the ring
  for (int i = 0; i < 5; ++i) queue.pop_front();
  for (int i = 8; i < 13; ++i) queue.push_back(i);  // full, and the head is in the middle
  queue.push_back(13);
  // Expect: 5..13 by index and by pop.
  for (std::size_t i = 0; i < queue.count(); ++i) BOOST_TEST(queue[i] == static_cast<int>(i) + 5);
  for (int i = 5; i <= 13; ++i) BOOST_TEST(queue.pop_front() == i);
}

BOOST_AUTO_TEST_CASE(ring_of_its_size_is_used_again) {
  Fifo<int> queue;
  for (int i = 0; i < 8; ++i) queue.push_back(i);
  const int* const first_slot = &queue.front();
  for (int i = 0; i < 8; ++i) queue.pop_front();
  // Expect: eight pushes later the ring is where it was, so nothing was allocated.
  for (int i = 0; i < 100; ++i) {
    int* const slot = &queue.push_back(i);
    BOOST_TEST((slot == first_slot + i % 8));
    queue.pop_front();
  }
}

BOOST_AUTO_TEST_CASE(a_ring_of_few_entries_is_small) {
  struct Counted {
    Counted() { ++living(); }
    Counted(const Counted&) { ++living(); }
    Counted& operator=(const Counted&) = default;
    ~Counted() { --living(); }
    static int& living() {
      static int count = 0;
      return count;
    }
  };
  {
    Fifo<Counted> queue;
    BOOST_TEST(Counted::living() == 0);
    for (int i = 0; i < 100; ++i) {
      queue.push_back({});
      BOOST_TEST(Counted::living() == (i == 0 ? 1 : 2));
      queue.push_back({});
      queue.pop_front();
      queue.pop_front();
      BOOST_TEST(Counted::living() == 2);
    }
    for (int i = 0; i < 9; ++i) queue.push_back({});
    BOOST_TEST(Counted::living() == 16);
  }
  BOOST_TEST(Counted::living() == 0);
}

BOOST_AUTO_TEST_CASE(a_moved_fifo_is_empty_and_usable) {
  Fifo<int> from;
  for (int i = 0; i < 5; ++i) from.push_back(i);
  Fifo<int> to(std::move(from));
  BOOST_TEST(from.empty());  // NOLINT(bugprone-use-after-move)
  BOOST_TEST(to.count() == 5U);
  from.push_back(7);
  to = std::move(from);
  BOOST_TEST(from.empty());  // NOLINT(bugprone-use-after-move)
  BOOST_TEST(to.count() == 1U);
  BOOST_TEST(to.pop_front() == 7);
  from.push_back(8);
  BOOST_TEST(from.front() == 8);
}

BOOST_AUTO_TEST_CASE(popped_slot_lets_go_of_what_it_held) {
  const auto object = std::make_shared<int>(7);
  Fifo<std::shared_ptr<int>> queue;
  queue.push_back(object);
  queue.pop_front();
  BOOST_TEST(object.use_count() == 1);
  queue.push_back(object);
  queue.clear();
  BOOST_TEST(object.use_count() == 1);
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(elements_that_only_move_are_held) {
  Fifo<std::unique_ptr<int>> queue;
  for (int i = 0; i < 20; ++i) queue.push_back(std::make_unique<int>(i));
  for (int i = 0; i < 20; ++i) BOOST_TEST(*queue.pop_front() == i);
}

BOOST_AUTO_TEST_CASE(behaves_as_a_deque) {
  const bool held = exs::test::holds("any sequence of pushes, pops and clears", [] {
    const std::vector<int> steps = exs::test::draw_ints();
    Fifo<int> queue;
    std::deque<int> model;
    for (const int step : steps) {
      if (step % 31 == 30) {
        queue.clear();
        model.clear();
      } else if (step % 3 != 0 || model.empty()) {
        queue.push_back(step);
        model.push_back(step);
      } else {
        EXS_HOLD(queue.pop_front() == model.front());
        model.pop_front();
      }
      EXS_HOLD(queue.count() == model.size());
      EXS_HOLD(queue.empty() == model.empty());
      for (std::size_t i = 0; i < model.size(); ++i) EXS_HOLD(queue[i] == model[i]);
    }
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_SUITE_END()
