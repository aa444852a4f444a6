// Read sections: what a remover waits for and what it does not wait for.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/read_section.h"

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using exs::ProcessBarrier;
using exs::ReadSection;
using exs::wait_for_readers;

namespace read_section_test {

struct Fixture {
  Fixture() { ProcessBarrier::prepare(); }
};

}  // namespace read_section_test

BOOST_FIXTURE_TEST_SUITE(read_section_test, Fixture)

BOOST_AUTO_TEST_CASE(nobody_is_waited_for_when_nobody_reads) {
  wait_for_readers();
  { const ReadSection section; }
  wait_for_readers();
}

BOOST_AUTO_TEST_CASE(a_remover_waits_for_who_is_inside_and_a_nested_section_is_part_of_the_outer_one) {
  std::atomic<bool> inside{false};
  std::atomic<bool> leaves{false};
  std::thread reader([&] {
    const ReadSection section;
    { const ReadSection nested; }
    inside = true;
    inside.notify_all();
    // What the remover does meanwhile must not end before this.
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    leaves = true;
  });
  inside.wait(false);
  wait_for_readers();
  BOOST_TEST(leaves);
  reader.join();
  wait_for_readers();
}

BOOST_AUTO_TEST_CASE(nothing_found_inside_is_destroyed_there) {
  constexpr int kRemovals = 2000;
  struct Object {
    explicit Object(int value) : first(value), second(value) {}
    ~Object() { first = second = -1; }
    int first, second;
  };
  std::atomic<Object*> published{nullptr};
  std::atomic<bool> done{false};
  std::atomic<int> damaged{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        const ReadSection section;
        const Object* object = published.load(std::memory_order_acquire);
        if (object != nullptr && (object->first != object->second || object->first < 0)) ++damaged;
      }
    });
  }
  for (int i = 0; i < kRemovals; ++i) {
    auto object = std::make_unique<Object>(i);
    published.store(object.get(), std::memory_order_release);
    published.store(nullptr, std::memory_order_relaxed);
    wait_for_readers();
  }
  done = true;
  for (auto& reader : readers) reader.join();
  BOOST_TEST(damaged == 0);
}

BOOST_AUTO_TEST_CASE(threads_that_have_ended_are_forgotten) {
  for (int i = 0; i < 100; ++i) {
    std::thread([] { const ReadSection section; }).join();
    wait_for_readers();
  }
}

BOOST_AUTO_TEST_CASE(a_child_does_not_wait_for_the_threads_of_its_parent) {
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  std::thread reader([&] {
    const ReadSection section;
    inside = true;
    inside.notify_all();
    leave.wait(false);
  });
  inside.wait(false);
  const pid_t child = ::fork();
  if (child == 0) {
    exs::ThreadRecord::forget_other_threads();
    ProcessBarrier::prepare();
    wait_for_readers();
    { const ReadSection section; }
    wait_for_readers();
    ::_exit(0);
  }
  int status = -1;
  BOOST_TEST(::waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
  leave = true;
  leave.notify_all();
  reader.join();
}

BOOST_AUTO_TEST_SUITE_END()
