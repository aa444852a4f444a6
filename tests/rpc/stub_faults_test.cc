// A process at one end of calls by stubs is killed, stopped or forked: the other end is told in time, and goes on.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/rpc/fast/everything_fixture.h"

namespace exs::test {
namespace stub_faults_test {

// rpc-stub-peer, with the line that it prints.
class Peer {
 public:
  explicit Peer(std::vector<const char*> words) {
    const char* const program = std::getenv("EXS_RPC_STUB_PEER");
    BOOST_REQUIRE(program != nullptr);
    std::array<int, 2> ends{};
    BOOST_REQUIRE_EQUAL(pipe2(ends.data(), O_CLOEXEC), 0);
    words.insert(words.begin(), program);
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execv(program, const_cast<char* const*>(words.data()));
      _exit(127);
    }
    close(ends[1]);
    char byte = 0;
    while (read(ends[0], &byte, 1) == 1 && byte != '\n') line_ += byte;
    close(ends[0]);
    BOOST_REQUIRE(!line_.empty());
  }
  ~Peer() { end(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] const char* line() const { return line_.c_str(); }
  void stop() const {
    kill(pid_, SIGSTOP);
    BOOST_REQUIRE_EQUAL(waitpid(pid_, nullptr, WUNTRACED), pid_);
  }
  void go_on() const { kill(pid_, SIGCONT); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  std::string line_;
};

Client open_hasty_client(const char* port, std::int64_t call_ms = 2'000) {
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.connect_timeout_ns = 2'000 * kMillisecond;
  options.timeout_ns = call_ms * kMillisecond;
  options.slots = 2;
  options.waiting_max = 1;
  return open_client(port, &options);
}

std::string add_one(exs_rpc_client_t* client, exs_rpc_context_t* context = nullptr) {
  int sum = 0;
  const std::string told = outcome(add_1(client, 1, 2, &sum, context));
  BOOST_TEST((told != "ok" || sum == 3));
  return told;
}

}  // namespace stub_faults_test

BOOST_AUTO_TEST_SUITE(stub_faults_test)

// shows: exs_rpc_invoke ECONNRESET ECONNREFUSED
BOOST_AUTO_TEST_CASE(a_server_is_killed_while_it_is_called) {
  for (int round = 0; round < 10; ++round) {
    Peer server({"server"});
    const Client client = open_hasty_client(server.line());
    std::thread killing([&server, round] {
      for (volatile int i = 0; i < round * 20'000;) i = i + 1;
      server.end();
    });
    std::string told;
    exs_rpc_context_t context{};
    do told = add_one(client.get(), &context);
    while (told == "ok");
    BOOST_TEST((told == "ECONNRESET" || told == "ECONNREFUSED"), told);
    BOOST_TEST(context.outcome != EXS_RPC_EXECUTED);
    killing.join();
    BOOST_TEST(add_one(client.get()) == "ECONNREFUSED");
  }
}

BOOST_AUTO_TEST_CASE(long_messages_are_under_way_when_a_server_is_killed) {
  std::vector<char> bytes(8 << 20);
  for (int round = 0; round < 5; ++round) {
    Peer server({"server"});
    const Client client = open_hasty_client(server.line());
    std::thread killing([&server, round] {
      for (volatile int i = 0; i < round * 1'000'000;) i = i + 1;
      server.end();
    });
    const blob argument{static_cast<unsigned>(bytes.size()), bytes.data()};
    int told = 0;
    while (told == 0) {
      blob got{};
      told = copy_1(client.get(), &argument, &got, nullptr);
      blob_free(&got);
    }
    BOOST_TEST((errno == ECONNRESET || errno == ECONNREFUSED));
    killing.join();
  }
}

BOOST_AUTO_TEST_CASE(a_server_is_stopped_for_a_while) {
  const Peer server({"server"});
  const Client client = open_hasty_client(server.line());
  BOOST_TEST(add_one(client.get()) == "ok");
  server.stop();
  exs_rpc_context_t context{};
  context.timeout_ns = 50 * kMillisecond;
  BOOST_TEST(add_one(client.get(), &context) == "ETIMEDOUT");
  BOOST_TEST(context.outcome == EXS_RPC_UNKNOWN);
  server.go_on();
  for (int i = 0; i < 20; ++i) BOOST_TEST(add_one(client.get()) == "ok");
}

// Short calls, long ones, those without a slot, one-way ones, a close that waits for one, and a new client.
BOOST_AUTO_TEST_CASE(everything_ends_in_time_when_a_server_is_stopped) {
  constexpr std::int64_t kLimitMs = 100;
  const Peer server({"server"});
  const Client client = open_hasty_client(server.line(), kLimitMs);
  Client noting = open_hasty_client(server.line(), kLimitMs);
  server.stop();
  std::vector<char> bytes(8 << 20);
  const blob argument{static_cast<unsigned>(bytes.size()), bytes.data()};
  blob got{};
  exs_rpc_context_t context{};
  BOOST_TEST(outcome(copy_1(client.get(), &argument, &got, &context)) == "ETIMEDOUT");
  BOOST_TEST(context.outcome == EXS_RPC_UNKNOWN);
  BOOST_TEST(add_one(client.get(), &context) == "ETIMEDOUT");
  BOOST_TEST(context.outcome == EXS_RPC_UNKNOWN);
  BOOST_TEST(add_one(client.get(), &context) == "ETIMEDOUT");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  exs_rpc_call_t* const waiting = add_1_begin(client.get(), 1, 2, &context);
  BOOST_TEST(outcome(add_1_end(waiting, nullptr)) == "ETIMEDOUT");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  for (int i = 0; i < 2; ++i) BOOST_TEST(outcome(note_1(noting.get(), 1, nullptr)) == "ok");
  BOOST_TEST(outcome(note_1(noting.get(), 1, nullptr)) == "ETIMEDOUT");
  noting.reset();
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.connect_timeout_ns = kLimitMs * kMillisecond;
  BOOST_TEST(everything_one_open(host(), server.line(), &options) == nullptr);
  BOOST_TEST(errno == ETIMEDOUT);
  server.go_on();
  const Client patient = open_client(server.line());
  BOOST_TEST(add_one(patient.get()) == "ok");
}

BOOST_AUTO_TEST_CASE(clients_are_killed_while_they_call) {
  const Peer server({"server"});
  const Client client = open_hasty_client(server.line());
  for (int round = 0; round < 10; ++round) {
    Peer other({"client", server.line()});
    BOOST_TEST(add_one(client.get()) == "ok");
    other.end();
    BOOST_TEST(add_one(client.get()) == "ok");
  }
}

// shows: exs_rpc_invoke EOPNOTSUPP, exs_rpc_begin EOPNOTSUPP, exs_rpc_open EOPNOTSUPP, exs_rpc_server_create EOPNOTSUPP
BOOST_AUTO_TEST_CASE(a_child_has_none_of_its_parents_clients) {
  const Peer server({"server"});
  const Client client = open_hasty_client(server.line());
  BOOST_TEST(add_one(client.get()) == "ok");
  const pid_t child = fork();
  if (child == 0) {
    const bool is_refused = nothing_1(client.get(), nullptr) != 0 && errno == EOPNOTSUPP;
    const bool begins_none = nothing_1_begin(client.get(), nullptr) == nullptr && errno == EOPNOTSUPP;
    const bool opens_none =
        everything_one_open(host(), server.line(), nullptr) == nullptr && errno == EOPNOTSUPP;
    const bool makes_none = exs_rpc_server_create(nullptr) == nullptr && errno == EOPNOTSUPP;
    _exit(is_refused && begins_none && opens_none && makes_none ? 0 : 1);
  }
  int status = -1;
  BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
  BOOST_TEST(status == 0);
  BOOST_TEST(add_one(client.get()) == "ok");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
