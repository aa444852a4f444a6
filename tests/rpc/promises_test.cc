// Errors that rpc.h promises and that no other test here brings about (tests/house/promises.py).
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>
#include <cerrno>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "tests/rpc/fast/everything_fixture.h"
#include "tests/rpc/fast/raw_end.h"

namespace exs::test {
namespace promises_test {

std::string refusal(const void* made) {
  return made == nullptr ? errno_name(errno) : "ok";
}

exs_rpc_client_t* connect_to(std::uint16_t port,
                             const exs_rpc_interface_t* interface = &everything_one_interface,
                             const exs_rpc_client_options_t* options = nullptr) {
  const sockaddr_in address = address_of_host(port);
  return exs_rpc_connect(reinterpret_cast<const sockaddr*>(&address), sizeof address, interface, options);
}

exs_rpc_client_options_t hasty_options() {
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.connect_timeout_ns = 100 * kMillisecond;
  return options;
}

// A server whose ECHO is answered by the test.
class KeepingServer {
 public:
  KeepingServer() {
    std::copy_n(everything_one_service.serve, functions_.size(), functions_.begin());
    functions_[kEcho] = keep;
    BOOST_REQUIRE_EQUAL(exs_rpc_server_add(server_, &service_, &kept_), 0);
    const sockaddr_in address = address_of_host(0);
    port_ = exs_rpc_server_listen(server_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    BOOST_REQUIRE_MESSAGE(port_ > 0, exs_rpc_errtext());
    thread_ = std::thread([this] { exs_rpc_server_run(server_); });
  }
  ~KeepingServer() {
    exs_rpc_server_stop(server_);
    thread_.join();
    exs_rpc_server_delete(server_);
  }
  KeepingServer(const KeepingServer&) = delete;
  KeepingServer& operator=(const KeepingServer&) = delete;

  [[nodiscard]] std::string port() const { return std::to_string(port_); }
  // The request of an ECHO that has begun.
  exs_rpc_request_t* take_request() {
    exs_rpc_request_t* const request = kept_.get_future().get();
    kept_ = {};
    return request;
  }

 private:
  static constexpr std::size_t kEcho = 6;

  static int keep(void* /*argument*/, void* /*result*/, exs_rpc_request_t* request) {
    auto& kept = *static_cast<std::promise<exs_rpc_request_t*>*>(exs_rpc_request_user(request));
    kept.set_value(exs_rpc_request_keep(request));
    return EXS_RPC_LATER;
  }

  std::promise<exs_rpc_request_t*> kept_;
  std::array<exs_rpc_serve_t, 20> functions_{};
  const exs_rpc_service_t service_{&everything_one_interface, functions_.data()};
  exs_rpc_server_t* const server_ = exs_rpc_server_create(nullptr);
  int port_ = 0;
  std::thread thread_;
};

}  // namespace promises_test

BOOST_FIXTURE_TEST_SUITE(promises_test, EverythingFixture)

// shows: exs_rpc_connect EINVAL ECONNREFUSED EPROTONOSUPPORT EAGAIN
BOOST_AUTO_TEST_CASE(a_connect_is_refused) {
  BOOST_TEST(refusal(exs_rpc_connect(nullptr, 0, &everything_one_interface, nullptr)) == "EINVAL");
  BOOST_TEST(refusal(connect_to(server.number(), nullptr)) == "EINVAL");
  BOOST_TEST(refusal(connect_to(1)) == "ECONNREFUSED");
  exs_rpc_interface_t later = everything_one_interface;
  later.version = 2;
  BOOST_TEST(refusal(connect_to(server.number(), &later)) == "EPROTONOSUPPORT");
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.clients_max = 1;
  const EverythingServer small(&options);
  const Client first = open_client(small);
  BOOST_TEST(refusal(connect_to(small.number())) == "EAGAIN");
}

// shows: exs_rpc_connect EPROTO ETIMEDOUT
BOOST_AUTO_TEST_CASE(a_connect_to_what_is_no_server) {
  const exs_rpc_client_options_t options = hasty_options();
  FalseServer silent;
  BOOST_TEST(refusal(connect_to(silent.number(), &everything_one_interface, &options)) == "ETIMEDOUT");
  FalseServer talking;
  std::thread answering([&] {
    const auto end = talking.accept();
    end->send_raw(Bytes(100, std::byte{0xee}));
    while (!end->receive().empty()) continue;
  });
  BOOST_TEST(refusal(connect_to(talking.number())) == "EPROTO");
  answering.join();
}

// shows: exs_rpc_begin EINVAL EMSGSIZE ENOSYS EPROTONOSUPPORT, exs_rpc_end EINVAL EMSGSIZE EREMOTEIO,
// exs_rpc_client_status EINVAL
BOOST_AUTO_TEST_CASE(calls_and_ends_are_refused) {
  BOOST_TEST(refusal(nothing_1_begin(nullptr, nullptr)) == "EINVAL");
  BOOST_TEST(refusal(echo_1_begin(client.get(), "seventeen letters", nullptr)) == "EMSGSIZE");
  const exs_rpc_procedure_t& known = everything_one_interface.procedures[0];
  const exs_rpc_procedure_t procedures[] = {{"ECHO", 6, 0, known.hash, nullptr, nullptr},
                                            {"ABSENT", 99, 0, known.hash, nullptr, nullptr}};
  const exs_rpc_interface_t interface {
    "EVERYTHING.ONE", everything_one_interface.program, 1, 2, procedures
  };
  const Client other(connect_to(server.number(), &interface));
  BOOST_TEST(refusal(exs_rpc_begin(other.get(), 0, nullptr, nullptr)) == "EPROTONOSUPPORT");
  BOOST_TEST(refusal(exs_rpc_begin(other.get(), 1, nullptr, nullptr)) == "ENOSYS");
  BOOST_TEST(outcome(exs_rpc_end(nullptr, nullptr)) == "EINVAL");
  name result = nullptr;
  BOOST_TEST(outcome(bad_1_end(bad_1_begin(client.get(), nullptr), &result)) == "EMSGSIZE");
  int number = 0;
  BOOST_TEST(outcome(fail_1_end(fail_1_begin(client.get(), 3, nullptr), &number)) == "EREMOTEIO");
  exs_rpc_client_info_t info{};
  BOOST_TEST(outcome(exs_rpc_client_status(client.get(), &info)) == "EINVAL");
  BOOST_TEST(outcome(exs_rpc_client_status(nullptr, &info)) == "EINVAL");
}

// shows: exs_rpc_begin ECONNREFUSED ETIMEDOUT EPROTO
BOOST_AUTO_TEST_CASE(a_begin_finds_another_server_than_before) {
  const HeldPort port;
  const exs_rpc_client_options_t options = hasty_options();
  auto own = std::make_unique<EverythingServer>(nullptr, port.number());
  const Client caller = open_client(*own, &options);
  BOOST_TEST(outcome(nothing_1(caller.get(), nullptr)) == "ok");
  own.reset();
  while (nothing_1(caller.get(), nullptr) == 0) continue;  // until the end is known
  BOOST_TEST(refusal(nothing_1_begin(caller.get(), nullptr)) == "ECONNREFUSED");
  {
    const FalseServer silent(port.number());
    BOOST_TEST(refusal(nothing_1_begin(caller.get(), nullptr)) == "ETIMEDOUT");
  }
  FalseServer talking(port.number());
  std::thread answering([&] {
    const auto end = talking.accept();
    end->send_raw(Bytes(100, std::byte{0xee}));
    while (!end->receive().empty()) continue;
  });
  BOOST_TEST(refusal(nothing_1_begin(caller.get(), nullptr)) == "EPROTO");
  answering.join();
}

// shows: exs_rpc_end EAGAIN, exs_rpc_begin ECONNRESET
BOOST_AUTO_TEST_CASE(a_client_on_a_queue_of_the_program_does_not_wait_and_does_not_connect_again) {
  Queue queue;
  exs_rpc_client_options_t options = hasty_options();
  options.flags = EXS_RPC_ON_QUEUE;
  options.queue = queue.handle();
  auto own = std::make_unique<EverythingServer>();
  const Client caller = open_client(*own, &options);
  exs_rpc_call_t* const held = hold_1_begin(caller.get(), nullptr);
  BOOST_TEST(outcome(hold_1_end(held, nullptr)) == "EAGAIN");
  EverythingServer::wait_for_held(1);
  own.reset();
  while (exs_rpc_test(held) == 0) {
    const exs_event_t event = queue.next();
    exs_rpc_take(caller.get(), &event);
  }
  BOOST_TEST(outcome(hold_1_end(held, nullptr)) == "ECONNRESET");
  BOOST_TEST(refusal(nothing_1_begin(caller.get(), nullptr)) == "ECONNRESET");
}

// shows: exs_rpc_end EPROTO
BOOST_AUTO_TEST_CASE(an_end_of_a_call_that_is_answered_with_something_else) {
  FalseServer false_server;
  std::thread answering([&] {
    const auto end = false_server.accept();
    FalseServer::greet(*end);
    end->receive();
    end->send(rpc::FrameType::kMessage, Bytes(7));
    while (!end->receive().empty()) continue;
  });
  Client caller(connect_to(false_server.number()));
  BOOST_REQUIRE(caller != nullptr);
  BOOST_TEST(outcome(nothing_1_end(nothing_1_begin(caller.get(), nullptr))) == "EPROTO");
  caller.reset();
  answering.join();
}

// shows: exs_rpc_server_create EINVAL, exs_rpc_server_add EINVAL EBUSY, exs_rpc_server_listen EINVAL EADDRINUSE
// EADDRNOTAVAIL EBUSY, exs_rpc_server_run EINVAL EBUSY
BOOST_AUTO_TEST_CASE(orders_to_a_server_are_refused) {
  exs_rpc_server_options_t options{};
  BOOST_TEST(refusal(exs_rpc_server_create(&options)) == "EINVAL");
  BOOST_TEST(outcome(exs_rpc_server_add(nullptr, &everything_one_service, nullptr)) == "EINVAL");
  BOOST_TEST(outcome(exs_rpc_server_run(nullptr)) == "EINVAL");
  exs_rpc_server_t* const own = exs_rpc_server_create(nullptr);
  BOOST_TEST(outcome(exs_rpc_server_add(own, nullptr, nullptr)) == "EINVAL");
  const auto listen = [&](const sockaddr_in& address) {
    const int port = exs_rpc_server_listen(own, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return outcome(port > 0 ? 0 : -1);
  };
  BOOST_TEST(outcome(exs_rpc_server_listen(own, nullptr, 0)) == "EINVAL");
  BOOST_TEST(listen(address_of_host(server.number())) == "EADDRINUSE");
  sockaddr_in elsewhere = address_of_host(0);
  elsewhere.sin_addr.s_addr = htonl(0xc0000201);  // 192.0.2.1, which no host has
  BOOST_TEST(listen(elsewhere) == "EADDRNOTAVAIL");
  BOOST_TEST(listen(address_of_host(0)) == "ok");
  std::thread running([&] { exs_rpc_server_run(own); });
  while (exs_rpc_server_add(own, &everything_one_service, nullptr) == 0 || errno == EEXIST)
    std::this_thread::yield();
  BOOST_TEST(errno_name(errno) == "EBUSY");
  BOOST_TEST(listen(address_of_host(0)) == "EBUSY");
  BOOST_TEST(outcome(exs_rpc_server_run(own)) == "EBUSY");
  exs_rpc_server_stop(own);
  running.join();
  exs_rpc_server_delete(own);
}

// shows: exs_rpc_reply EINVAL EMSGSIZE ECONNRESET, exs_rpc_request_peer ENOTCONN
BOOST_AUTO_TEST_CASE(replies_that_cannot_be_sent) {
  KeepingServer keeping;
  Client caller = open_client(keeping.port());
  const name longer = const_cast<name>("seventeen letters");
  constexpr name kNothing = nullptr;
  BOOST_TEST(outcome(exs_rpc_reply(nullptr, 0, &kNothing)) == "EINVAL");
  for (const auto& [result, error] : {std::pair<const name*, const char*>{&kNothing, "EINVAL"},
                                      std::pair<const name*, const char*>{&longer, "EMSGSIZE"}}) {
    exs_rpc_call_t* const call = echo_1_begin(caller.get(), "short", nullptr);
    BOOST_TEST(outcome(exs_rpc_reply(keeping.take_request(), 0, result)) == error);
    name told = nullptr;
    BOOST_TEST(outcome(echo_1_end(call, &told)) == "EMSGSIZE");
  }
  echo_1_begin(caller.get(), "short", nullptr);
  exs_rpc_request_t* const kept = keeping.take_request();
  caller.reset();
  while (exs_rpc_request_cancelled(kept) == 0) std::this_thread::yield();
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  BOOST_TEST(outcome(exs_rpc_request_peer(kept, reinterpret_cast<sockaddr*>(&address), &length)) ==
             "ENOTCONN");
  BOOST_TEST(outcome(exs_rpc_reply(kept, 1, nullptr)) == "ECONNRESET");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
