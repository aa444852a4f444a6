// The loop of the C++ layer: events that no coroutine awaits, times, functions of other threads, and other loops.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/api/hpp_pair.h"

using namespace std::chrono_literals;

namespace exs::cpp {
namespace hpp_loop_test {

struct Fixture : ConnectedLoop {
  std::array<std::byte, 64> memory{};

  Task<> receive_into(Result& result) { result = co_await pair.left.recv(memory); }
};

int post_receive(const AsyncSocket& socket, std::span<std::byte> into, const Loop& loop, void* handle) {
  return exs_recv(socket->number(), into.data(), into.size(), 0, loop.queue().handle(), handle,
                  EXS_MHANDLE_UNREGISTERED);
}

}  // namespace hpp_loop_test

BOOST_FIXTURE_TEST_SUITE(hpp_loop_test, Fixture)

// ---------------------------------------------------------------- events that no coroutine awaits

BOOST_AUTO_TEST_CASE(notices_of_a_time_limit_come_to_the_handler_and_the_loop_ends) {
  int told = 0;
  loop.on_other_event([&](const Event& event) {
    BOOST_TEST(event.type() == EXS_EVT_RECVTIMEOUT);
    BOOST_TEST(event.handle<Fixture>() == this);
    ++told;
  });
  const exs_timeout_t limit = {1'000'000, 0, loop.queue().handle(), this};
  BOOST_TEST(exs_setsockopt(pair.left->number(), SOL_EXS, SO_ASYNC_RECV_TIMEOUT, &limit, sizeof limit) == 0);
  Result received;
  loop.spawn(receive_into(received));
  while (told < 3) loop.step();
  BOOST_TEST(loop.tasks() == 1U);  // it has not been taken for the end of the receive
  const std::array<std::byte, 4> bytes{};
  const auto send = [](AsyncSocket& socket, std::span<const std::byte> what) -> Task<> {
    BOOST_TEST(co_await socket.send(what));
  };
  loop.block_on(send(pair.right, bytes));
  loop.run();
  BOOST_TEST(received.bytes == 4U);
}

BOOST_AUTO_TEST_CASE(operations_that_the_program_posts_by_itself_come_to_the_handler) {
  std::vector<void*> handles;
  loop.on_other_event([&](const Event& event) {
    BOOST_TEST(event.type() == EXS_EVT_RECV);
    handles.push_back(event.handle<void>());
  });
  int mine = 0;
  void* const strange[] = {nullptr, &mine, reinterpret_cast<void*>(1), &loop.timers()};
  for (void* const handle : strange) BOOST_TEST(post_receive(pair.left, memory, loop, handle) == 0);
  pair.left.cancel();
  while (handles.size() < 4) loop.step();
  BOOST_TEST((handles == std::vector<void*>(std::begin(strange), std::end(strange))));
}

Task<> receive_from(AsyncSocket& socket, std::span<std::byte> into, Result& result) {
  result = co_await socket.recv(into);
}

BOOST_AUTO_TEST_CASE(a_loop_that_dies_waits_for_none_of_them) {
  Result received;
  {
    ConnectedLoop dying;  // without a handler
    const exs_qhandle_t queue = dying.loop.queue().handle();
    const exs_timeout_t limit = {1'000'000, 0, queue, nullptr};
    const int number = dying.pair.left->number();
    BOOST_TEST(exs_setsockopt(number, SOL_EXS, SO_ASYNC_RECV_TIMEOUT, &limit, sizeof limit) == 0);
    BOOST_TEST(post_receive(dying.pair.left, memory, dying.loop, nullptr) == 0);
    BOOST_TEST(exs_qpost(queue, nullptr, nullptr) == 0);
    dying.loop.spawn(receive_from(dying.pair.left, memory, received));
    dying.loop.step();
  }
  BOOST_TEST((!received || received.ended()));  // the other socket is closed first, and that may be seen
}

// Posts an accept that no coroutine awaits, and connects. Without a handler nobody can own the new socket.
BOOST_AUTO_TEST_CASE(a_connection_that_nobody_accepts_is_closed) {
  for (const int flags : {0, EXS_MULTISHOT}) {
    const Socket listening = listening_socket();
    BOOST_TEST(exs_accept(listening.number(), nullptr, flags, loop.queue().handle(), nullptr) == 0);
    AsyncSocket client(loop);
    const auto connect = [](AsyncSocket& socket, const Address address, std::span<std::byte> into,
                            Result& ended) -> Task<> {
      BOOST_TEST(co_await socket.connect(address));
      ended = co_await with_timeout(60s, socket.recv(into));
    };
    Result ended;
    loop.block_on(connect(client, listening.local_address(), memory, ended));
    // The end may have come before the receive was posted, which is refused then.
    const std::string error = name_of(ended.error);
    BOOST_TEST((error == "ECONNRESET" || error == "ENOTCONN"), error);
  }
}

BOOST_AUTO_TEST_CASE(what_the_handler_throws_comes_out_of_the_run) {
  loop.on_other_event([](const Event&) { throw std::runtime_error("handler"); });
  BOOST_TEST(exs_qpost(loop.queue().handle(), nullptr, nullptr) == 0);
  BOOST_CHECK_THROW(loop.step(), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(many_operations_each_resume_their_own_coroutine) {
  constexpr int kReceives = 1000;
  pair.left->set_limit(EXS_F_SET_MAX_OPS, kReceives);
  std::vector<Result> results(kReceives);
  for (Result& result : results) loop.spawn(receive_into(result));
  BOOST_TEST(pair.left.cancel() == kReceives);
  loop.run();
  for (const Result& result : results) BOOST_TEST(name_of(result.error) == "ECANCELED");
}

// ---------------------------------------------------------------- times

Task<> sleep(Loop& loop, Clock::time_point begin, std::chrono::milliseconds time,
             std::vector<std::chrono::milliseconds>& woken) {
  BOOST_TEST(co_await loop.sleep_until(begin + time));
  woken.push_back(time);
}

BOOST_AUTO_TEST_CASE(sleepers_wake_in_the_order_of_their_times) {
  std::vector<std::chrono::milliseconds> woken;
  const Clock::time_point begin = Clock::now();
  for (const auto time : {6ms, 0ms, 3ms, -1ms}) loop.spawn(sleep(loop, begin, time, woken));
  BOOST_TEST((loop.until_timer() == Clock::duration::zero()));
  loop.run();
  BOOST_TEST((woken == std::vector<std::chrono::milliseconds>{-1ms, 0ms, 3ms, 6ms}));
  BOOST_TEST(!loop.until_timer().has_value());
}

Task<> sleep_for_ever(Loop& loop, std::string& outcome) {
  outcome = name_of(co_await loop.sleep_for(24h));
}

BOOST_AUTO_TEST_CASE(a_loop_that_dies_wakes_its_sleepers) {
  std::string outcome;
  {
    Loop dying;
    dying.spawn(sleep_for_ever(dying, outcome));
  }
  BOOST_TEST(outcome == "ECANCELED");
}

Task<> receive_within(AsyncSocket& socket, std::span<std::byte> into, Clock::duration time, Result& result) {
  result = co_await with_timeout(time, socket.recv(into));
}

BOOST_AUTO_TEST_CASE(an_operation_with_a_limit_ends_with_it_and_the_socket_goes_on) {
  Result result;
  loop.block_on(receive_within(pair.left, memory, 1ms, result));
  BOOST_TEST(name_of(result.error) == "ETIMEDOUT");
  BOOST_TEST(!loop.until_timer().has_value());
  // In time.
  const std::array<std::byte, 4> bytes{};
  loop.spawn(receive_within(pair.left, memory, 24h, result));
  const auto send = [](AsyncSocket& socket, std::span<const std::byte> what) -> Task<> {
    BOOST_TEST(co_await with_timeout(24h, socket.send(what)));
  };
  loop.spawn(send(pair.right, bytes));
  loop.run();
  BOOST_TEST(result.bytes == 4U);
  BOOST_TEST(!loop.until_timer().has_value());
  // Refused at once.
  AsyncSocket unconnected(loop);
  loop.block_on(receive_within(unconnected, memory, 24h, result));
  BOOST_TEST(name_of(result.error) == "ENOTCONN");
  // Cancelled by somebody else.
  loop.spawn(receive_within(pair.left, memory, 24h, result));
  pair.left.cancel();
  loop.run();
  BOOST_TEST(name_of(result.error) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(an_unread_send_with_a_limit_comes_back) {
  const std::vector<std::byte> bytes(100'000);
  std::string outcome;
  const auto send = [](AsyncSocket& socket, std::span<const std::byte> what, std::string& how) -> Task<> {
    how = name_of(co_await with_timeout(1ms, socket.send(what)));
  };
  loop.block_on(send(pair.left, bytes, outcome));
  BOOST_TEST(outcome == "ETIMEDOUT");
}

// ---------------------------------------------------------------- other threads, other loops

BOOST_AUTO_TEST_CASE(functions_of_other_threads_are_called_in_the_thread_of_the_loop) {
  constexpr int kEach = 200;
  const auto here = std::this_thread::get_id();
  int called = 0;
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) {
        if (!loop.post([&] { called += std::this_thread::get_id() == here ? 1 : 1000; })) std::abort();
      }
    });
  }
  while (called < 3 * kEach) loop.step();
  for (std::thread& other : others) other.join();
  BOOST_TEST(called == 3 * kEach);
}

int status_of(const Loop& loop, int attribute) {
  int value = 0;
  std::size_t length = sizeof value;
  BOOST_TEST(exs_qstatus(loop.queue().handle(), attribute, &value, &length) == 0);
  return value;
}

BOOST_AUTO_TEST_CASE(functions_that_wait_for_the_loop_share_an_event) {
  constexpr int kFunctions = 1000;
  while (loop.poll()) continue;  // what the fixture has left
  const int taken = status_of(loop, EXS_QATTR_RESERVED_SLOTS);
  int called = 0;
  for (int i = 0; i < kFunctions; ++i) BOOST_TEST(loop.post([&] { ++called; }));
  BOOST_TEST(status_of(loop, EXS_QATTR_RESERVED_SLOTS) == taken + 1);
  loop.step();
  BOOST_TEST(called == kFunctions);
}

BOOST_AUTO_TEST_CASE(a_full_queue_makes_room_for_a_function) {
  const int depth = status_of(loop, EXS_QATTR_DEPTH);
  while (exs_qpost(loop.queue().handle(), nullptr, nullptr) == 0) continue;
  BOOST_TEST(status_of(loop, EXS_QATTR_RESERVED_SLOTS) == depth);
  bool called = false;
  BOOST_TEST(loop.post([&] { called = true; }));
  BOOST_TEST(status_of(loop, EXS_QATTR_DEPTH) == 2 * depth);
  while (!called) loop.step();
}

BOOST_AUTO_TEST_CASE(a_posted_function_may_spawn_and_throw) {
  Result received;
  BOOST_TEST(loop.post([&] { loop.spawn(receive_into(received)); }));
  BOOST_TEST(loop.post([] { throw std::runtime_error("posted"); }));
  BOOST_CHECK_THROW(loop.step(), std::runtime_error);
  BOOST_TEST(loop.tasks() == 1U);
  pair.left.cancel();
  loop.run();
  BOOST_TEST(name_of(received.error) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(a_foreign_loop_watches_the_descriptor) {
  while (loop.poll()) continue;  // what the fixture has left
  pollfd watched{loop.descriptor(), POLLIN, 0};
  BOOST_REQUIRE(watched.fd >= 0);
  BOOST_TEST(!loop.poll());
  BOOST_TEST(!loop.step(1ms));
  int called = 0;
  BOOST_TEST(loop.post([&] { ++called; }));
  BOOST_TEST(::poll(&watched, 1, -1) == 1);
  BOOST_TEST(loop.poll());
  BOOST_TEST(called == 1);
  BOOST_TEST(::poll(&watched, 1, 0) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
