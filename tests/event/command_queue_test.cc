// CommandQueue: what is pushed is taken once, in order, also from many threads.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <thread>

#include "event/engine/command_queue.h"
#include "tests/event/fake_port.h"

namespace exs::test {
namespace command_queue_test {

Command numbered(std::uintptr_t number) {
  Command command;
  command.operation.tag.handle = reinterpret_cast<void*>(number);
  return command;
}

std::uintptr_t number_of(const Command& command) {
  return reinterpret_cast<std::uintptr_t>(command.operation.tag.handle);
}

}  // namespace command_queue_test

BOOST_AUTO_TEST_SUITE(command_queue_test)

BOOST_AUTO_TEST_CASE(commands_are_taken_in_order_and_once) {
  CommandQueue queue;
  CommandBatch batch;
  auto& taken = batch.commands;
  BOOST_TEST(!queue.waiting());
  queue.push(numbered(1));
  queue.push(numbered(2));
  BOOST_TEST(queue.waiting());
  queue.take_all(batch);
  BOOST_TEST(!queue.waiting());
  BOOST_REQUIRE_EQUAL(taken.size(), 2U);
  BOOST_TEST(number_of(taken[0]) == 1U);
  BOOST_TEST(number_of(taken[1]) == 2U);
  taken.clear();
  queue.take_all(batch);
  BOOST_TEST(taken.empty());
}

BOOST_AUTO_TEST_CASE(a_command_that_nobody_took_dies_with_the_queue) {
  const auto witness = std::make_shared<int>();
  {
    CommandQueue queue;
    Command command;
    command.task = make_task([witness](Shard&) {});
    queue.push(std::move(command));
  }
  BOOST_TEST(witness.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(commands_of_many_threads_all_arrive_each_threads_in_order) {
  constexpr std::uintptr_t kThreads = 3;
  constexpr std::uintptr_t kEach = 2000;
  CommandQueue queue;
  std::vector<std::thread> pushers;
  for (std::uintptr_t thread = 0; thread < kThreads; ++thread) {
    pushers.emplace_back([&queue, thread] {
      for (std::uintptr_t i = 0; i < kEach; ++i) queue.push(numbered(thread * kEach + i));
    });
  }
  std::uintptr_t next[kThreads] = {};
  std::uintptr_t count = 0;
  CommandBatch batch;
  auto& taken = batch.commands;
  bool in_order = true;
  while (count < kThreads * kEach) {
    queue.take_all(batch);
    for (const Command& command : taken) {
      const std::uintptr_t thread = number_of(command) / kEach;
      in_order = in_order && number_of(command) % kEach == next[thread]++;
      ++count;
    }
    taken.clear();
  }
  for (std::thread& pusher : pushers) pusher.join();
  BOOST_TEST(in_order);
  BOOST_TEST(!queue.waiting());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
