// What exs_rpc_errtext() says: the function, the fault, and the cure.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "tests/rpc/fast/everything_fixture.h"

namespace exs::test {
namespace texts_test {

void check_text(std::string_view begin, std::string_view end = "") {
  const std::string text = exs_rpc_errtext();
  BOOST_TEST(text.starts_with(begin), text);
  BOOST_TEST(text.ends_with(end), text);
}

}  // namespace texts_test

BOOST_FIXTURE_TEST_SUITE(texts_test, EverythingFixture)

BOOST_AUTO_TEST_CASE(a_text_names_the_function_and_what_is_wrong) {
  BOOST_TEST(outcome(nothing_1(nullptr, nullptr)) == "EINVAL");
  check_text("exs_rpc_invoke: no client");
  BOOST_TEST(exs_rpc_open("no such name", "1", &everything_one_interface, nullptr) == nullptr);
  check_text("exs_rpc_open: no such name, port 1: ");
  BOOST_TEST(exs_rpc_open(host(), "1", &everything_one_interface, nullptr) == nullptr);
  check_text("exs_rpc_open: cannot connect: ");
  BOOST_TEST(exs_rpc_connect(nullptr, 0, &everything_one_interface, nullptr) == nullptr);
  check_text("exs_rpc_connect: an address of another family");
  context.flags = ~0U;
  BOOST_TEST(outcome(nothing_1(client.get(), &context)) == "EINVAL");
  check_text("exs_rpc_invoke: EVERYTHING.ONE: a time or flag of the context");
  BOOST_TEST(exs_rpc_invoke(client.get(), 99, nullptr, nullptr, nullptr) == -1);
  check_text("exs_rpc_invoke: EVERYTHING.ONE has 20 procedures, and none at place 99");
}

BOOST_AUTO_TEST_CASE(a_text_names_the_procedure) {
  name result = nullptr;
  BOOST_TEST(outcome(echo_1(client.get(), nullptr, &result, nullptr)) == "EINVAL");
  check_text("exs_rpc_invoke: ECHO: an argument has a NULL");
  BOOST_TEST(outcome(echo_1(client.get(), "seventeen letters", &result, nullptr)) == "EMSGSIZE");
  check_text("exs_rpc_invoke: ECHO: an argument has more elements");
  context.timeout_ns = kMillisecond;
  exs_rpc_call_t* const held = hold_1_begin(client.get(), &context);
  BOOST_TEST(outcome(hold_1_end(held, nullptr)) == "ETIMEDOUT");
  check_text("exs_rpc_end: HOLD: not answered in time");
  int failed = 0;
  BOOST_TEST(outcome(fail_1(client.get(), 3, &failed, nullptr)) == "EREMOTEIO");
  check_text("exs_rpc_invoke: FAIL: the procedure failed");
}

BOOST_AUTO_TEST_CASE(a_text_has_the_numbers) {
  std::vector<exs_rpc_call_t*> calls;
  while (exs_rpc_call_t* const call = hold_1_begin(client.get(), nullptr)) calls.push_back(call);
  BOOST_TEST(errno == EAGAIN);
  check_text("exs_rpc_begin: HOLD: 8 calls are under way", "ask for more slots");
  exs_rpc_interface_t later = everything_one_interface;
  later.version = 2;
  BOOST_TEST(exs_rpc_open(host(), server.port().c_str(), &later, nullptr) == nullptr);
  check_text("exs_rpc_open: the server has the program 536875572, but not its version 2 (EVERYTHING.ONE)");
  for (exs_rpc_call_t* const call : calls) {
    exs_rpc_cancel(call);
    BOOST_TEST(outcome(hold_1_end(call, nullptr)) == "ECANCELED");
  }
  check_text("exs_rpc_end: HOLD: cancelled");
}

BOOST_AUTO_TEST_CASE(a_text_stays_when_calls_succeed) {
  BOOST_TEST(outcome(nothing_1(nullptr, nullptr)) == "EINVAL");
  BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
  check_text("exs_rpc_invoke: no client");
}

// Its limit is longer than the clock counts.
BOOST_AUTO_TEST_CASE(a_call_may_wait_for_ever) {
  context.timeout_ns = INT64_MAX;
  BOOST_TEST(outcome(nothing_1(client.get(), &context)) == "ok");
  BOOST_TEST(context.outcome == EXS_RPC_EXECUTED);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
