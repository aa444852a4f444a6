// The classes of exs-rpcgen for C++: calls that are waited for, and calls that coroutines await.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "everything_exs.hpp"
#include "tests/rpc/fast/everything_server.h"

namespace exs::test {
namespace stub_hpp_test {

namespace ex = exs::cpp;
using namespace std::chrono_literals;

// What is awaited or called gives what all of exs.hpp gives.
static_assert(std::is_base_of_v<ex::Outcome, decltype(std::declval<ex::RpcCalling<int>&>().await_resume())>);
static_assert(std::is_base_of_v<ex::Outcome, decltype(std::declval<ex::RpcCalling<void>&>().await_resume())>);
static_assert(std::is_same_v<ex::Outcome, decltype(std::declval<everything_one_client&>().note_1(7))>);

struct Fixture {
  EverythingServer server;
  everything_one_client waiting{host(), server.port()};
};

bool is(const std::error_code& error, int number) {
  return error == std::error_code(number, std::generic_category());
}

}  // namespace stub_hpp_test

BOOST_FIXTURE_TEST_SUITE(stub_hpp_test, Fixture)

BOOST_AUTO_TEST_CASE(calls_that_are_waited_for) {
  BOOST_TEST(waiting.add_1(2, 3).get().value() == 5);
  ex::RpcResult<name> told = waiting.echo_1("hello").get();
  BOOST_TEST(std::string(told.value()) == "hello");
  const ex::RpcResult<name> moved = std::move(told);
  BOOST_TEST(static_cast<bool>(moved));
  exact pair{1, 2};
  waiting.swap_1(&pair).get().value();
  BOOST_TEST((pair.x == 2 && pair.y == 1));
  BOOST_TEST(static_cast<bool>(waiting.note_1(7)));
  const int notes = waiting.notes_1().get().value();  // may run before it
  BOOST_TEST((notes == 0 || notes == 7));
  const digest given = {'x', 'y', 'z'};
  BOOST_TEST(std::string(waiting.hash_1(&given).get().value(), 3) == "xyz");
  const auto failed = waiting.fail_1(9).get();
  BOOST_TEST(is(failed.error, EREMOTEIO));
  BOOST_TEST(failed.remote_status == 9);
  BOOST_TEST(failed.executed == EXS_RPC_EXECUTED);
  BOOST_CHECK_THROW(waiting.fail_1(9).get().value(), std::system_error);
}

BOOST_AUTO_TEST_CASE(calls_of_a_wrong_argument) {
  BOOST_TEST(is(waiting.echo_1("seventeen letters").get().error, EMSGSIZE));
  BOOST_CHECK_THROW(everything_one_client(host(), "1"), std::system_error);
}

BOOST_AUTO_TEST_CASE(a_call_that_nobody_asks_for) {
  { const auto forgotten = waiting.echo_1("hello"); }
  {
    const auto held = waiting.hold_1();
    EverythingServer::wait_for_held(1);
  }
  BOOST_TEST(waiting.release_1().get().value() == 1);
}

BOOST_AUTO_TEST_CASE(coroutines_await_calls) {
  ex::Loop loop;
  everything_one_client client(loop, host(), server.port());
  int sum = 0;
  const auto add_up = [&](int from) -> ex::Task<> {
    for (int i = 0; i < 50; ++i) sum += (co_await client.add_1(from, i)).value() - from - i + 1;
  };
  for (int t = 0; t < 20; ++t) loop.spawn(add_up(t));
  loop.run();
  BOOST_TEST(sum == 1000);
}

BOOST_AUTO_TEST_CASE(several_calls_of_one_coroutine_are_under_way) {
  ex::Loop loop;
  everything_one_client client(loop, host(), server.port());
  loop.block_on([](everything_one_client& by) -> ex::Task<> {
    auto first = by.later_1(1);
    auto second = by.echo_1("two");
    auto third = by.add_1(1, 2);
    BOOST_TEST((co_await third).value() == 3);
    BOOST_TEST(std::string((co_await second).value()) == "two");
    BOOST_TEST((co_await first).value() == 2);
  }(client));
}

BOOST_AUTO_TEST_CASE(an_awaited_call_has_a_limit) {
  ex::Loop loop;
  everything_one_client client(loop, host(), server.port());
  loop.block_on([](everything_one_client& by) -> ex::Task<> {
    const auto late = co_await by.hold_1(30ms);
    BOOST_TEST(is(late.error, ETIMEDOUT));
    BOOST_TEST(late.executed == EXS_RPC_UNKNOWN);
    BOOST_TEST((co_await by.release_1()).value() == 1);
    BOOST_TEST((co_await by.add_1(1, 1)).value() == 2);
  }(client));
}

ex::Task<> hold_one(everything_one_client& client, std::error_code& told) {
  told = (co_await client.hold_1()).error;
  if (told) told = (co_await client.add_1(1, 1)).error;  // of a client that is ending
}

BOOST_AUTO_TEST_CASE(calls_that_are_awaited_when_the_client_ends) {
  std::error_code error;
  ex::Loop loop;
  {
    everything_one_client client(loop, host(), server.port());
    loop.spawn(hold_one(client, error));
    const auto begun = client.hold_1();
    EverythingServer::wait_for_held(2);
  }
  BOOST_TEST(is(error, ECANCELED));
  BOOST_TEST(waiting.release_1().get().value() == 2);
}

BOOST_AUTO_TEST_CASE(many_calls_are_awaited_when_the_server_ends) {
  ex::Loop loop;
  auto own = std::make_unique<EverythingServer>();
  everything_one_client client(loop, host(), own->port());
  int ended = 0;
  const auto await_one = [&]() -> ex::Task<> {
    if (is((co_await client.hold_1()).error, ECONNRESET)) ++ended;
  };
  for (int i = 0; i < 500; ++i) loop.spawn(await_one());
  EverythingServer::wait_for_held(8);
  own.reset();
  loop.run();
  BOOST_TEST(ended == 500);
}

BOOST_AUTO_TEST_CASE(a_coroutine_ends_its_client_while_others_await_it) {
  ex::Loop loop;
  auto own = std::make_unique<EverythingServer>();
  auto client = std::make_unique<everything_one_client>(loop, host(), own->port());
  int ended = 0;
  const auto await_one = [&]() -> ex::Task<> {
    const auto told = co_await client->hold_1();
    if (told.error) ++ended;
    if (ended == 1) client.reset();
  };
  for (int i = 0; i < 100; ++i) loop.spawn(await_one());
  EverythingServer::wait_for_held(8);
  own.reset();
  loop.run();
  BOOST_TEST(ended == 100);
}

BOOST_AUTO_TEST_CASE(the_server_ends_while_a_call_is_awaited) {
  ex::Loop loop;
  auto own = std::make_unique<EverythingServer>();
  everything_one_client client(loop, host(), own->port());
  std::error_code error;
  loop.spawn([](everything_one_client& by, std::error_code& told) -> ex::Task<> {
    told = (co_await by.hold_1()).error;
  }(client, error));
  EverythingServer::wait_for_held(1);
  own.reset();
  loop.run();
  BOOST_TEST(is(error, ECONNRESET));
  BOOST_TEST(is(client.add_1(1, 1).get().error, ECONNRESET));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
