// The C++ layer: objects, spans, and operations that coroutines await.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/api/hpp_pair.h"

namespace exs::cpp {
namespace hpp_test {

// A coroutine that records that it has ended.
struct Receiver {
  std::array<std::byte, 64> memory{};
  std::vector<Result> results;

  Task<> run(const AsyncSocket& socket) { results.push_back(co_await socket.recv(memory)); }
  // Receives until the end of the stream or an error.
  Task<> run_to_the_end(AsyncSocket socket) {
    do {
      results.push_back(co_await socket.recv(memory));
    } while (results.back() && !results.back().ended());
  }
};

}  // namespace hpp_test

BOOST_FIXTURE_TEST_SUITE(hpp_test, ConnectedLoop)

Task<> exchange(Connected& pair, std::size_t length) {
  const Buffer buffer(2 * length + 1);
  const auto out = buffer.bytes().first(length);
  const auto in = buffer.bytes().last(length);
  std::fill(out.begin(), out.end(), static_cast<std::byte>(length + 1));
  const auto [sent, received] =
      co_await both(pair.left.send(out, buffer.region()), pair.right.recv(in, buffer.region()));
  BOOST_TEST(sent.value() == length);
  BOOST_TEST(received.value() == length);
  BOOST_TEST(!received.truncated());
  BOOST_TEST(!received.ended());
  BOOST_TEST(std::equal(in.begin(), in.end(), out.begin()));
}

BOOST_AUTO_TEST_CASE(messages_of_all_sizes_arrive) {
  for (const std::size_t length : {0UL, 1UL, 1024UL, 1025UL, 4UL << 20})
    loop.block_on(exchange(pair, length));
}

BOOST_AUTO_TEST_CASE(memory_need_not_be_registered) {
  loop.block_on([](Connected& both_ends) -> Task<> {
    std::array<std::byte, 32> memory{};
    const auto [sent, received] =
        co_await both(both_ends.left.send(bytes_of("hello")), both_ends.right.recv(memory));
    BOOST_TEST(sent.value() == 5U);
    BOOST_TEST(text_of(std::span(memory).first(received.value())) == "hello");
  }(pair));
}

BOOST_AUTO_TEST_CASE(a_result_tells_what_was_cut_and_the_end) {
  loop.block_on([](Connected& both_ends) -> Task<> {
    std::array<std::byte, 2> memory{};
    const auto [sent, received] =
        co_await both(both_ends.left.send(bytes_of("hello")), both_ends.right.recv(memory));
    BOOST_TEST(sent.value() == 5U);
    BOOST_TEST(received.bytes == 2U);
    BOOST_TEST(received.truncated());
    BOOST_TEST(co_await both_ends.left.shutdown(SHUT_WR));
    const Result end = co_await both_ends.right.recv(memory);
    BOOST_TEST(end.ended());
    BOOST_TEST(end.value() == 0U);
    BOOST_TEST(name_of(co_await both_ends.left.send({})) == "EPIPE");
  }(pair));
}

BOOST_AUTO_TEST_CASE(a_refused_operation_resumes_with_the_error) {
  loop.block_on([](Loop& own, Connected& both_ends) -> Task<> {
    std::array<std::byte, 2> memory{};
    const AsyncSocket fresh(own);
    BOOST_TEST(name_of(co_await fresh.recv(memory)) == "ENOTCONN");
    BOOST_TEST(name_of(co_await fresh.accept()) == "EINVAL");
    BOOST_TEST(name_of(co_await fresh.shutdown(SHUT_WR)) == "ENOTCONN");
    // With these flags a send has no event, or more than one.
    for (const int flags : {EXS_NO_EVENT, EXS_PERSISTENT | EXS_NOTIFY})
      BOOST_TEST(name_of(co_await both_ends.left.send(memory, EXS_MHANDLE_UNREGISTERED, flags)) ==
                 "EOPNOTSUPP");
    BOOST_CHECK_THROW((co_await fresh.recv(memory)).value(), std::system_error);
    const AsyncSocket none;
    BOOST_TEST(name_of(co_await none.recv(memory)) == "ECANCELED");
  }(loop, pair));
}

BOOST_AUTO_TEST_CASE(a_connect_to_nobody_fails) {
  Address nobody;
  {
    const Socket gone = listening_socket();
    nobody = gone.local_address();
  }
  const AsyncSocket socket(loop);
  const Outcome connect = loop.block_on([](const AsyncSocket& own, const Address& address) -> Task<Outcome> {
    co_return co_await own.connect(address);
  }(socket, nobody));
  BOOST_TEST(name_of(connect) == "ECONNREFUSED");
}

BOOST_AUTO_TEST_CASE(close_ends_what_others_await) {
  Receiver here;
  Receiver there;
  loop.spawn(here.run(pair.left));
  loop.spawn(there.run(pair.right));
  loop.block_on([](AsyncSocket& socket) -> Task<> { BOOST_TEST(co_await socket.close()); }(pair.left));
  loop.run();
  BOOST_TEST(!pair.left.is_open());
  BOOST_TEST_REQUIRE(here.results.size() == 1U);
  BOOST_TEST(name_of(here.results[0].error) == "ECANCELED");
  BOOST_TEST_REQUIRE(there.results.size() == 1U);
  BOOST_TEST(there.results[0].ended());
}

BOOST_AUTO_TEST_CASE(a_socket_may_die_or_move_while_others_await_it) {
  Receiver here;
  loop.spawn(here.run(pair.left));
  AsyncSocket moved = std::move(pair.left);
  BOOST_TEST(!pair.left.is_open());
  BOOST_TEST(moved.is_open());
  moved = AsyncSocket();
  loop.run();
  BOOST_TEST_REQUIRE(here.results.size() == 1U);
  BOOST_TEST(name_of(here.results[0].error) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(cancel_ends_what_is_awaited_and_the_socket_goes_on) {
  Receiver here;
  loop.spawn(here.run(pair.left));
  BOOST_TEST(pair.left.cancel() == 1);
  loop.run();
  BOOST_TEST(name_of(here.results.at(0).error) == "ECANCELED");
  BOOST_TEST(pair.left.cancel() == 0);
  loop.block_on(exchange(pair, 10));
}

// The operation that is open when the loop is destroyed ends with ECANCELED, and so does every later one.
Task<> accept_until_the_loop_dies(Loop& dying) {
  const Socket listening = listening_socket();
  const Accepted accepted = co_await accept(dying, listening);
  BOOST_TEST(name_of(accepted.error) == "ECANCELED");
  const AsyncSocket late(dying);
  BOOST_TEST(name_of(co_await late.connect(listening.local_address())) == "ECANCELED");
}

void let_a_loop_die() {
  Receiver receiver;
  AsyncSocket outlives;
  {
    Loop dying;
    Connected ends = dying.block_on(connect_pair(dying));
    dying.spawn(receiver.run_to_the_end(std::move(ends.left)));
    outlives = std::move(ends.right);
    dying.spawn(accept_until_the_loop_dies(dying));
    BOOST_TEST(dying.tasks() == 2U);
  }
  BOOST_TEST_REQUIRE(receiver.results.size() == 1U);
  BOOST_TEST(!receiver.results[0]);
  BOOST_TEST(!outlives.is_open());
}

BOOST_AUTO_TEST_CASE(a_dying_loop_ends_what_is_left) {
  for (int i = 0; i < 5; ++i) let_a_loop_die();  // until every shard has opened its own descriptors
  const std::size_t descriptors = exs::test::open_descriptors();
  let_a_loop_die();
  BOOST_TEST(exs::test::open_descriptors() == descriptors);
}

BOOST_AUTO_TEST_CASE(the_queue_grows_with_what_is_awaited) {
  constexpr int kReceives = 300;  // more than the queue has slots
  pair.left->set_limit(EXS_F_SET_MAX_OPS, kReceives);
  Loop small(1);
  Connected ends = small.block_on(connect_pair(small));
  ends.left->set_limit(EXS_F_SET_MAX_OPS, kReceives);
  std::vector<Receiver> receivers(kReceives);
  for (Receiver& receiver : receivers) small.spawn(receiver.run(ends.left));
  BOOST_TEST(small.tasks() == std::size_t{kReceives});
  small.spawn([](AsyncSocket& socket) -> Task<> {
    for (int i = 0; i < kReceives; ++i) {
      const auto byte = static_cast<std::byte>(i);
      BOOST_TEST((co_await socket.send({&byte, 1})).value() == 1U);
    }
  }(ends.right));
  small.run();
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    BOOST_TEST_REQUIRE(receivers[i].results.size() == 1U);
    BOOST_TEST(receivers[i].results[0].bytes == 1U);
    BOOST_TEST((receivers[i].memory[0] == static_cast<std::byte>(i)));
  }
}

BOOST_AUTO_TEST_CASE(beyond_the_limit_of_the_socket_an_operation_is_refused) {
  pair.left->set_limit(EXS_F_SET_MAX_OPS, 1);
  Receiver first;
  Receiver second;
  loop.spawn(first.run(pair.left));
  loop.spawn(second.run(pair.left));
  BOOST_TEST_REQUIRE(second.results.size() == 1U);
  BOOST_TEST(name_of(second.results[0].error) == "EAGAIN");
  BOOST_TEST(first.results.empty());
  pair.left.cancel();
  loop.run();
}

BOOST_AUTO_TEST_CASE(what_a_task_throws_comes_out) {
  const auto thrower = [](AsyncSocket* socket) -> Task<int> {
    if (socket != nullptr) BOOST_TEST((co_await socket->send({})).value() == 0U);
    throw std::out_of_range("thrown");
  };
  const auto caller = [](Task<int> task) -> Task<> { BOOST_TEST(co_await std::move(task) == 0); };
  for (AsyncSocket* socket : {static_cast<AsyncSocket*>(nullptr), &pair.left}) {
    BOOST_CHECK_THROW(loop.block_on(thrower(socket)), std::out_of_range);
    BOOST_CHECK_THROW(loop.block_on(both(thrower(socket), caller(thrower(nullptr)))), std::out_of_range);
    loop.spawn(caller(thrower(socket)));
    BOOST_CHECK_THROW(loop.run(), std::out_of_range);
    loop.run();  // the exception is thrown only once
  }
}

BOOST_AUTO_TEST_CASE(a_task_gives_its_result) {
  const auto text = [](std::string said) -> Task<std::string> { co_return said + "!"; };
  const auto shout = [](Task<std::string> inner) -> Task<std::string> {
    co_return co_await std::move(inner) + "!";
  };
  BOOST_TEST(loop.block_on(shout(text("hello"))) == "hello!!");
  const auto [left, right] = loop.block_on(both(text("a"), shout(text("b"))));
  BOOST_TEST(left == "a!");
  BOOST_TEST(right == "b!!");
  const Task<std::string> never_awaited = text("nothing");
}

BOOST_AUTO_TEST_CASE(stop_ends_the_run_from_another_thread) {
  Receiver receiver;
  loop.spawn(receiver.run(pair.left));
  std::thread other([&] { BOOST_TEST(loop.stop()); });
  loop.run();
  other.join();
  BOOST_TEST(receiver.results.empty());
  BOOST_TEST(loop.tasks() == 1U);
  pair.left.cancel();
  loop.run();
  BOOST_TEST(receiver.results.size() == 1U);
}

BOOST_AUTO_TEST_CASE(loops_of_two_threads_share_a_listening_socket) {
  constexpr int kClients = 40;
  Socket listening = listening_socket();
  std::atomic<int> answered{0};
  const auto answer = [](AsyncSocket client, std::atomic<int>& count) -> Task<> {
    std::array<std::byte, 16> memory{};
    const Result request = co_await client.recv(memory);
    if (!request || request.ended()) co_return;
    const Result reply = co_await client.send(std::span(memory).first(request.bytes));
    const Result end = co_await client.recv(memory);
    if (reply.bytes == request.bytes && end.ended()) ++count;  // only one thread may use BOOST_TEST
  };
  const auto serve = [&answer](Loop& own, const Socket& shared, std::atomic<int>& count) -> Task<> {
    for (;;) {
      Accepted accepted = co_await accept(own, shared);
      if (!accepted) break;
      own.spawn(answer(std::move(accepted.socket), count));
    }
  };
  std::array<std::thread, 2> threads;
  std::atomic<int> ready{0};
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      Loop own;
      own.spawn(serve(own, listening, answered));
      ++ready;
      own.run();
    });
  }
  while (ready < 2) std::this_thread::yield();
  const auto ask = [](Loop& own, const Address& address) -> Task<> {
    AsyncSocket socket(own);
    BOOST_TEST(co_await socket.connect(address));
    std::array<std::byte, 16> memory{};
    const auto [sent, reply] = co_await both(socket.send(bytes_of("hello")), socket.recv(memory));
    BOOST_TEST(sent.value() == 5U);
    BOOST_TEST(text_of(std::span(memory).first(reply.value())) == "hello");
    BOOST_TEST(co_await socket.close());
  };
  for (int i = 0; i < kClients; ++i) loop.spawn(ask(loop, listening.local_address()));
  loop.run();
  BOOST_TEST(listening.close());
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(answered == kClients);
}

BOOST_AUTO_TEST_CASE(without_coroutines_a_queue_gives_events) {
  Queue queue(16);
  Socket listening = listening_socket();
  Socket left = Socket::create();
  int named = 0;
  BOOST_TEST(listening.accept({queue.handle()}));
  BOOST_TEST(left.connect(listening.local_address(), {queue.handle(), &named}));
  std::array<exs_event_t, 16> room;
  const Queue::Taken taken = queue.wait(room, 2);
  BOOST_TEST_REQUIRE(taken.events.size() == 2U);
  Socket right;
  for (const exs_event_t& taken_event : taken.events) {
    const Event event(taken_event);
    BOOST_TEST(!event.error());
    if (event.type() == EXS_EVT_ACCEPT) right = Socket(event.new_socket());
    if (event.type() == EXS_EVT_CONNECT) BOOST_TEST(event.handle<int>() == &named);
    if (event.type() == EXS_EVT_CONNECT) BOOST_TEST(event.socket() == left.number());
  }
  BOOST_TEST(right.peer_address().port() == left.local_address().port());
  std::vector<std::byte> memory(8192);
  {
    const Region region(memory);
    BOOST_TEST(right.recv(std::span(memory).first(4096), {queue.handle()}, region));
    BOOST_TEST(left.send(std::span(memory).last(4096), {queue.handle()}, region));
    const Queue::Taken ended = queue.wait(room, 2);
    BOOST_TEST_REQUIRE(ended.events.size() == 2U);
    for (const exs_event_t& event : ended.events) BOOST_TEST(Event(event).result().value() == 4096U);
  }
  BOOST_TEST(queue.post(&named));
  BOOST_TEST(Event(queue.wait(room).events[0]).handle<int>() == &named);
  BOOST_TEST(queue.wait(room, 1, std::chrono::nanoseconds(0)).events.empty());
  BOOST_TEST(queue.get(EXS_QATTR_DEPTH) == 16);
  queue.set(EXS_QATTR_DEPTH, 32);
  BOOST_TEST(queue.get(EXS_QATTR_DEPTH) == 32);
}

BOOST_AUTO_TEST_CASE(set_up_that_fails_throws) {
  BOOST_CHECK_THROW(Queue(0), std::system_error);
  BOOST_CHECK_THROW(Buffer(0), std::system_error);
  BOOST_CHECK_THROW(Region({}), std::system_error);
  BOOST_CHECK_THROW(Socket::create(SOCK_DGRAM), std::system_error);
  BOOST_CHECK_THROW(Address("256.256.256.256", 1), std::system_error);
  BOOST_CHECK_THROW(static_cast<void>(Socket().local_address()), std::system_error);
  Socket socket = Socket::create();
  BOOST_CHECK_THROW(socket.set_option(EXS_SO_LINGER_MS, -1), std::system_error);
  socket.set_option(EXS_SO_LINGER_MS, 7);
  BOOST_TEST(socket.option(EXS_SO_LINGER_MS) == 7);
  socket.set_limit(EXS_F_SET_SMALL_MAX, std::size_t{100});
  BOOST_TEST(socket.limit<std::size_t>(EXS_F_GET_SMALL_MAX) == 100U);
  const Address address("127.0.0.1", 4711);
  BOOST_TEST(address.port() == 4711);
  BOOST_TEST(address.family() == AF_INET);
  BOOST_TEST(address.text() == "127.0.0.1:4711");
  BOOST_TEST(address.with_port(80).text() == "127.0.0.1:80");
  BOOST_TEST(Address("::1", 4711).with_port(7).text() == "[::1]:7");
  BOOST_TEST(Address().text() == "unknown address");
}

BOOST_AUTO_TEST_CASE(limits_counters_provider_and_reasons_are_told) {
  BOOST_TEST(std::string(Library::limits().providers).find("iwarp") != std::string::npos);
  BOOST_TEST(Library::stats().struct_bytes == sizeof(exs_stats_t));
  Socket socket = Socket::create();
  socket.set_text_option(EXS_SO_PROVIDER, "require:iwarp");
  BOOST_TEST(socket.provider() == "require:iwarp");
  BOOST_CHECK_THROW(socket.set_text_option(EXS_SO_PROVIDER, "no such provider"), std::system_error);
  BOOST_TEST(pair.left->provider() == "iwarp");
  BOOST_TEST(!pair.left->reasons().empty());
  BOOST_TEST(std::string(pair.left->reasons().front().provider) != "");
  BOOST_TEST(pair.left->stats().struct_bytes == sizeof(exs_stats_t));
  BOOST_CHECK_THROW(static_cast<void>(Socket().provider()), std::system_error);
  BOOST_TEST(pair.left->error_text().empty());
  BOOST_CHECK_EXCEPTION(static_cast<void>(Socket().reasons()), std::system_error, [](const auto& error) {
    return std::string_view(error.what()).find("exs_getsockopt: -1 is no socket that exs can use") == 0;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
