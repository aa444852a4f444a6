// What can go wrong with a call by a stub, and what is told then.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "tests/rpc/fast/everything_fixture.h"

namespace exs::test {
namespace stub_refusals_test {

char* text(const char* of) {
  return const_cast<char*>(of);
}

}  // namespace stub_refusals_test

BOOST_FIXTURE_TEST_SUITE(stub_refusals_test, EverythingFixture)

// shows: exs_rpc_invoke EREMOTEIO
BOOST_AUTO_TEST_CASE(a_procedure_that_fails) {
  int result = 0;
  BOOST_TEST(outcome(fail_1(client.get(), 77, &result, &context)) == "EREMOTEIO");
  BOOST_TEST(context.remote_status == 77);
  BOOST_TEST(context.outcome == EXS_RPC_EXECUTED);
  BOOST_TEST(outcome(fail_1(client.get(), 0, &result, &context)) == "ok");
}

BOOST_AUTO_TEST_CASE(a_result_that_cannot_be_sent) {
  name result = nullptr;
  BOOST_TEST(outcome(bad_1(client.get(), &result, &context)) == "EMSGSIZE");
  BOOST_TEST(context.outcome == EXS_RPC_EXECUTED);
  BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

// shows: exs_rpc_invoke EINVAL EMSGSIZE
BOOST_AUTO_TEST_CASE(arguments_that_cannot_be_sent) {
  name told = nullptr;
  BOOST_TEST(outcome(echo_1(client.get(), nullptr, &told, &context)) == "EINVAL");
  BOOST_TEST(outcome(echo_1(client.get(), "seventeen letters", &told, &context)) == "EMSGSIZE");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  mixed given{};
  given.first = given.pair[0] = given.pair[1] = text("");
  int numbers[9] = {};
  given.numbers = {9, numbers};
  mixed got{};
  BOOST_TEST(outcome(mix_1(client.get(), &given, &got, nullptr)) == "EMSGSIZE");
  given.numbers = {3, nullptr};
  BOOST_TEST(outcome(mix_1(client.get(), &given, &got, nullptr)) == "EINVAL");
  BOOST_TEST(outcome(mix_1(client.get(), nullptr, &got, nullptr)) == "EINVAL");
  context.timeout_ns = -1;
  BOOST_TEST(outcome(nothing_1(client.get(), &context)) == "EINVAL");
  BOOST_TEST(outcome(nothing_1(nullptr, nullptr)) == "EINVAL");
  BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(messages_longer_than_either_end_takes) {
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.message_bytes_max = 1 << 20;
  const EverythingServer small(&options);
  const Client own = open_client(small);
  std::vector<char> given(1 << 20);
  const blob argument{static_cast<unsigned>(given.size()), given.data()};
  blob got{};
  BOOST_TEST(outcome(copy_1(own.get(), &argument, &got, &context)) == "EMSGSIZE");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  BOOST_TEST(outcome(nothing_1(own.get(), nullptr)) == "ok");
}

// shows: exs_rpc_invoke ETIMEDOUT
BOOST_AUTO_TEST_CASE(no_answer_in_time) {
  int result = 0;
  context.timeout_ns = 20 * kMillisecond;
  BOOST_TEST(outcome(hold_1(client.get(), &result, &context)) == "ETIMEDOUT");
  BOOST_TEST(context.outcome == EXS_RPC_UNKNOWN);
  // Its slot is free again when its answer has come, which nobody sees.
  BOOST_TEST(outcome(release_1(client.get(), &result, nullptr)) == "ok");
  BOOST_TEST(EverythingServer::state().cancelled == 1);
  for (int i = 0; i < 20; ++i) BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(servers_know_how_much_time_is_left) {
  std::int64_t left_ms = 0;
  context.timeout_ns = 5000 * kMillisecond;
  BOOST_TEST(outcome(left_1(client.get(), &left_ms, &context)) == "ok");
  BOOST_TEST((left_ms > 1000 && left_ms <= 5000));
}

// shows: exs_rpc_end ECANCELED
BOOST_AUTO_TEST_CASE(a_call_is_cancelled) {
  exs_rpc_call_t* const call = begin_held(&context);
  exs_rpc_cancel(call);
  BOOST_TEST(exs_rpc_test(call) == 1);
  int result = 0;
  BOOST_TEST(outcome(hold_1_end(call, &result)) == "ECANCELED");
  BOOST_TEST(context.outcome == EXS_RPC_UNKNOWN);
  BOOST_TEST(outcome(release_1(client.get(), &result, nullptr)) == "ok");
  BOOST_TEST(EverythingServer::state().cancelled == 1);
}

BOOST_AUTO_TEST_CASE(the_server_ends_and_another_comes) {
  exs_rpc_context_t waiting{};
  const HeldPort port;
  auto own = std::make_unique<EverythingServer>(nullptr, port.number());
  const Client caller = open_client(*own);
  exs_rpc_call_t* const call = add_1_begin(caller.get(), 1, 2, nullptr);
  int sum = 0;
  BOOST_TEST(outcome(add_1_end(call, &sum)) == "ok");
  exs_rpc_call_t* const held = fail_1_begin(caller.get(), 0, &waiting);
  BOOST_TEST(outcome(fail_1_end(held, &sum)) == "ok");
  own.reset();
  BOOST_TEST(outcome(nothing_1(caller.get(), &context)) != "ok");
  own = std::make_unique<EverythingServer>(nullptr, port.number());
  BOOST_TEST(outcome(nothing_1(caller.get(), &context)) == "ok");
}

// shows: exs_rpc_end ECONNRESET
BOOST_AUTO_TEST_CASE(a_call_under_way_when_the_server_ends) {
  auto own = std::make_unique<EverythingServer>();
  const Client caller = open_client(*own);
  exs_rpc_call_t* const call = hold_1_begin(caller.get(), &context);
  EverythingServer::wait_for_held(1);
  own.reset();
  int result = 0;
  BOOST_TEST(outcome(hold_1_end(call, &result)) == "ECONNRESET");
  BOOST_TEST(context.outcome == EXS_RPC_UNKNOWN);
}

BOOST_AUTO_TEST_CASE(a_client_ends_while_its_call_is_held) {
  Client caller = open_client(server);
  exs_rpc_call_t* const call = hold_1_begin(caller.get(), nullptr);
  BOOST_REQUIRE(call != nullptr);
  EverythingServer::wait_for_held(1);
  caller.reset();
  int released = 0;
  BOOST_TEST(outcome(release_1(client.get(), &released, nullptr)) == "ok");
  BOOST_TEST(released == 1);
}

// The same program as another client knows it.
// shows: exs_rpc_invoke ENOSYS EPROTONOSUPPORT, exs_rpc_open EPROTONOSUPPORT
BOOST_AUTO_TEST_CASE(interfaces_that_differ) {
  const exs_rpc_procedure_t& known = everything_one_interface.procedures[0];
  const exs_rpc_procedure_t procedures[] = {
      {"NOTHING", known.number, 0, known.hash, nullptr, nullptr},
      {"ECHO", 6, 0, known.hash, nullptr, nullptr},
      {"ABSENT", 99, 0, known.hash, nullptr, nullptr},
  };
  exs_rpc_interface_t interface { "EVERYTHING.ONE", everything_one_interface.program, 1, 3, procedures };
  const auto open = [&] { return exs_rpc_open(host(), server.port().c_str(), &interface, nullptr); };
  const Client other(open());
  BOOST_REQUIRE_MESSAGE(other != nullptr, exs_rpc_errtext());
  const auto call = [&](std::uint32_t procedure) {
    return outcome(exs_rpc_invoke(other.get(), procedure, nullptr, nullptr, &context));
  };
  BOOST_TEST(call(0) == "ok");
  BOOST_TEST(call(1) == "EPROTONOSUPPORT");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  BOOST_TEST(call(2) == "ENOSYS");
  BOOST_TEST(call(3) == "EINVAL");
  interface.version = 2;
  BOOST_TEST(open() == nullptr);
  BOOST_TEST(errno == EPROTONOSUPPORT);
  ++interface.program;
  BOOST_TEST(open() == nullptr);
  BOOST_TEST(errno == EPROTONOSUPPORT);
}

// shows: exs_rpc_open ECONNREFUSED ENOENT EINVAL
BOOST_AUTO_TEST_CASE(nobody_listens_and_there_is_no_such_name) {
  const std::string port = server.port();
  BOOST_TEST(exs_rpc_open(host(), "1", &everything_one_interface, nullptr) == nullptr);
  BOOST_TEST(errno == ECONNREFUSED);
  BOOST_TEST(exs_rpc_open("no such name", "1", &everything_one_interface, nullptr) == nullptr);
  BOOST_TEST(errno == ENOENT);
  BOOST_TEST(exs_rpc_open(nullptr, "1", &everything_one_interface, nullptr) == nullptr);
  BOOST_TEST(errno == EINVAL);
}

// shows: exs_rpc_open EAGAIN
BOOST_AUTO_TEST_CASE(more_clients_than_the_server_takes) {
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.clients_max = 2;
  const EverythingServer small(&options);
  Client first = open_client(small);
  const Client second = open_client(small);
  BOOST_TEST(everything_one_open(host(), small.port().c_str(), nullptr) == nullptr);
  BOOST_TEST(errno == EAGAIN);
  BOOST_TEST(outcome(nothing_1(first.get(), nullptr)) == "ok");
}

// shows: exs_rpc_server_add EEXIST
BOOST_AUTO_TEST_CASE(options_and_orders_that_are_wrong) {
  exs_rpc_server_options_t options{};
  BOOST_TEST(exs_rpc_server_create(&options) == nullptr);
  BOOST_TEST(errno == EINVAL);
  options.struct_bytes = sizeof options;
  options.slots = 65;
  BOOST_TEST(exs_rpc_server_create(&options) == nullptr);
  exs_rpc_server_t* const idle = exs_rpc_server_create(nullptr);
  BOOST_TEST(outcome(exs_rpc_server_run(idle)) == "EINVAL");
  BOOST_TEST(exs_rpc_server_add(idle, &everything_one_service, nullptr) == 0);
  BOOST_TEST(outcome(exs_rpc_server_add(idle, &everything_one_service, nullptr)) == "EEXIST");
  exs_rpc_server_delete(idle);
  exs_rpc_client_options_t wishes{};
  wishes.struct_bytes = sizeof wishes;
  wishes.timeout_ns = -1;
  BOOST_TEST(everything_one_open(host(), server.port().c_str(), &wishes) == nullptr);
  BOOST_TEST(errno == EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
