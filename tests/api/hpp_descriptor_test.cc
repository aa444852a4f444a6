// The loop of the C++ layer waits for descriptors of others: alone, beside its queue, with a limit, inside another loop.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/api/hpp_pair.h"

using namespace std::chrono_literals;

namespace exs::cpp {
namespace hpp_descriptor_test {

// Two ends of a local socket.
struct Fixture : ConnectedLoop {
  Fixture() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == -1) std::abort();
  }
  ~Fixture() {
    for (const int end : ends) ::close(end);
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  void write() { BOOST_REQUIRE(::write(ends[1], "x", 1) == 1); }
  void read() {
    char byte = 0;
    BOOST_REQUIRE(::read(ends[0], &byte, 1) == 1);
  }
  // What the peer takes before it would block.
  void fill() {
    const std::vector<char> much(1 << 16);
    while (::write(ends[0], much.data(), much.size()) > 0) continue;
  }

  std::array<int, 2> ends{};
  std::vector<std::string> order;
};

Task<> wait_readable(Loop& loop, int descriptor, std::vector<std::string>& order) {
  order.push_back("readable " + name_of(co_await loop.readable(descriptor)));
}
Task<> wait_writable(Loop& loop, int descriptor, std::vector<std::string>& order) {
  order.push_back("writable " + name_of(co_await loop.writable(descriptor)));
}
Task<> wait_within(Loop& loop, int descriptor, Clock::duration time, std::vector<std::string>& order) {
  order.push_back("within " + name_of(co_await with_timeout(time, loop.readable(descriptor))));
}

}  // namespace hpp_descriptor_test

BOOST_FIXTURE_TEST_SUITE(hpp_descriptor_test, Fixture)

BOOST_AUTO_TEST_CASE(a_coroutine_reads_what_comes_again_and_again) {
  constexpr int kBytes = 100;
  int got = 0;
  const auto reader = [](Fixture& fixture, int& count) -> Task<> {
    while (count < kBytes) {
      BOOST_TEST(co_await fixture.loop.readable(fixture.ends[0]));
      fixture.read();
      ++count;
    }
  };
  const auto writer = [](Fixture& fixture) -> Task<> {
    for (int i = 0; i < kBytes; ++i) {
      BOOST_TEST(co_await fixture.loop.sleep_for(0ms));
      fixture.write();
    }
  };
  loop.spawn(reader(*this, got));
  loop.spawn(writer(*this));
  loop.run();
  BOOST_TEST(got == kBytes);
}

BOOST_AUTO_TEST_CASE(both_directions_of_one_descriptor_are_told_apart) {
  fill();
  loop.spawn(wait_readable(loop, ends[0], order));
  loop.spawn(wait_writable(loop, ends[0], order));
  BOOST_TEST(!loop.poll());
  write();
  BOOST_TEST(loop.step());
  BOOST_TEST((order == std::vector<std::string>{"readable 0"}));
  std::vector<char> much(1 << 16);
  while (::read(ends[1], much.data(), much.size()) > 0) continue;
  loop.run();
  BOOST_TEST((order == std::vector<std::string>{"readable 0", "writable 0"}));
}

BOOST_AUTO_TEST_CASE(all_who_wait_for_a_descriptor_are_told) {
  for (int i = 0; i < 3; ++i) loop.spawn(wait_readable(loop, ends[0], order));
  write();
  loop.run();
  BOOST_TEST(order.size() == 3U);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_peer_makes_it_readable_and_writable) {
  fill();
  loop.spawn(wait_readable(loop, ends[0], order));
  loop.spawn(wait_writable(loop, ends[0], order));
  ::shutdown(ends[1], SHUT_RDWR);
  loop.run();
  BOOST_TEST((order == std::vector<std::string>{"readable 0", "writable 0"}));
}

BOOST_AUTO_TEST_CASE(events_timers_and_posted_functions_come_while_a_descriptor_is_awaited) {
  loop.spawn(wait_readable(loop, ends[0], order));
  const auto send = [](AsyncSocket& socket) -> Task<> {
    const std::array<std::byte, 4> bytes{};
    BOOST_TEST(co_await socket.send(bytes));
  };
  const auto receive = [](AsyncSocket& socket) -> Task<> {
    std::array<std::byte, 4> bytes{};
    BOOST_TEST((co_await socket.recv(bytes)).bytes == 4U);
  };
  const auto both_of = [&]() -> Task<> { co_await both(receive(pair.left), send(pair.right)); };
  loop.block_on(both_of());
  const auto sleep = [](Loop& on) -> Task<> { BOOST_TEST(co_await on.sleep_for(1ms)); };
  loop.block_on(sleep(loop));
  bool called = false;
  BOOST_TEST(loop.post([&] { called = true; }));
  while (!called) loop.step();
  BOOST_TEST(order.empty());
  write();
  loop.run();
  BOOST_TEST((order == std::vector<std::string>{"readable 0"}));
}

BOOST_AUTO_TEST_CASE(a_wait_with_a_limit_ends_with_it_and_can_be_done_again) {
  loop.spawn(wait_within(loop, ends[0], 1ms, order));
  loop.run();
  loop.spawn(wait_within(loop, ends[0], 24h, order));
  write();
  loop.run();
  BOOST_TEST((order == std::vector<std::string>{"within ETIMEDOUT", "within 0"}));
  BOOST_TEST(!loop.until_timer().has_value());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_awaited_is_refused_at_once) {
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  BOOST_REQUIRE(file >= 0);
  loop.spawn(wait_readable(loop, file, order));
  loop.spawn(wait_readable(loop, -1, order));
  loop.spawn(wait_within(loop, file, 24h, order));
  BOOST_TEST((order == std::vector<std::string>{"readable EPERM", "readable EBADF", "within EPERM"}));
  BOOST_TEST(!loop.until_timer().has_value());
  ::close(file);
}

// The kernel forgets a descriptor that is closed; its number means another file then.
BOOST_AUTO_TEST_CASE(a_number_that_means_another_file_by_now_is_awaited_anew) {
  write();
  loop.block_on(wait_readable(loop, ends[0], order));
  const int number = ends[0];
  std::array<int, 2> pipe_ends{};
  BOOST_REQUIRE(::pipe2(pipe_ends.data(), O_CLOEXEC) == 0);
  BOOST_REQUIRE(::dup3(pipe_ends[0], number, O_CLOEXEC) == number);
  loop.spawn(wait_readable(loop, number, order));
  BOOST_TEST(!loop.poll());
  BOOST_REQUIRE(::write(pipe_ends[1], "x", 1) == 1);
  loop.run();
  BOOST_TEST((order == std::vector<std::string>{"readable 0", "readable 0"}));
  for (const int end : pipe_ends) ::close(end);
}

BOOST_AUTO_TEST_CASE(a_loop_that_dies_resumes_who_waits) {
  {
    Loop dying;
    dying.spawn(wait_readable(dying, ends[0], order));
    dying.spawn(wait_within(dying, ends[0], 24h, order));
  }
  BOOST_TEST(order.size() == 2U);
  for (const std::string& outcome : order) BOOST_TEST(outcome.ends_with("ECANCELED"));
}

BOOST_AUTO_TEST_CASE(the_descriptor_of_the_loop_tells_of_descriptors_that_are_awaited_later) {
  while (loop.poll()) continue;  // what the fixture has left
  pollfd watched{loop.descriptor(), POLLIN, 0};
  BOOST_TEST(::poll(&watched, 1, 0) == 0);
  loop.spawn(wait_readable(loop, ends[0], order));
  BOOST_TEST(::poll(&watched, 1, 0) == 0);
  write();
  BOOST_TEST(::poll(&watched, 1, -1) == 1);
  BOOST_TEST(loop.poll());
  BOOST_TEST(order.size() == 1U);
  BOOST_TEST(::poll(&watched, 1, 0) == 0);  // though it is still readable
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
