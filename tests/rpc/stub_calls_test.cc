// Several calls by stubs at a time: slots, and those that wait for one; threads; answers in any order.
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/rpc/fast/everything_fixture.h"

namespace exs::test {
namespace stub_calls_test {

// A thread that sleeps in exs_rpc_end() of a held call.
class Ending {
 public:
  explicit Ending(exs_rpc_call_t* call)
      : told_(std::async(std::launch::async, [this, call] {
          thread_ = gettid();
          return outcome(hold_1_end(call, nullptr));
        })) {
    while (thread_ == 0 || !is_asleep()) std::this_thread::yield();
  }

  // Long before the call's own time limit.
  std::string outcome_at_once() {
    const bool is_there = told_.wait_for(std::chrono::seconds(15)) == std::future_status::ready;
    return is_there ? told_.get() : "it waits";
  }

 private:
  [[nodiscard]] bool is_asleep() const {
    std::ifstream file("/proc/self/task/" + std::to_string(thread_) + "/stat");
    std::string line;
    std::getline(file, line);
    return line.find(") S ") != std::string::npos;
  }

  std::atomic<pid_t> thread_{0};
  std::future<std::string> told_;
};

using Threads = std::set<std::string>;

// The threads of this process that do not block the signal, but for those of `others`.
Threads threads_that_take(int signal, const Threads& others = {}) {
  Threads found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string word;
    while (status >> word && word != "SigBlk:") continue;
    std::uint64_t blocked = 0;
    const std::string number = task.path().filename();
    if (status >> std::hex >> blocked && (blocked >> (signal - 1) & 1) == 0 && !others.contains(number))
      found.insert(number);
  }
  return found;
}

}  // namespace stub_calls_test

BOOST_FIXTURE_TEST_SUITE(stub_calls_test, EverythingFixture)

BOOST_AUTO_TEST_CASE(calls_under_way_at_a_time) {
  std::vector<exs_rpc_call_t*> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(add_1_begin(client.get(), i, 100, nullptr));
  for (int i = 8; i-- > 0;) {
    int sum = 0;
    BOOST_REQUIRE(calls[static_cast<std::size_t>(i)] != nullptr);
    BOOST_TEST(outcome(add_1_end(calls[static_cast<std::size_t>(i)], &sum)) == "ok");
    BOOST_TEST(sum == i + 100);
  }
}

// shows: exs_rpc_begin EAGAIN
BOOST_AUTO_TEST_CASE(no_more_at_a_time_than_there_are_slots) {
  std::vector<exs_rpc_call_t*> calls;
  for (std::size_t i = 1; i <= 7; ++i) calls.push_back(begin_held(nullptr, i));
  exs_rpc_call_t* const last = hold_1_begin(client.get(), nullptr);
  BOOST_REQUIRE(last != nullptr);
  EverythingServer::wait_for_held(8);
  BOOST_TEST(hold_1_begin(client.get(), nullptr) == nullptr);
  BOOST_TEST(errno == EAGAIN);
  context.timeout_ns = 20 * kMillisecond;
  BOOST_TEST(outcome(nothing_1(client.get(), &context)) == "ETIMEDOUT");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  int released = 0;
  const Client another = open_client(server);
  BOOST_TEST(outcome(release_1(another.get(), &released, nullptr)) == "ok");
  BOOST_TEST(released == 8);
  calls.push_back(last);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    int order = 0;
    BOOST_TEST(outcome(hold_1_end(calls[i], &order)) == "ok");
    BOOST_TEST(order == static_cast<int>(i) + 1);
  }
}

// shows: exs_rpc_end ETIMEDOUT
BOOST_AUTO_TEST_CASE(calls_wait_for_slots) {
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.slots = 2;
  options.waiting_max = 20;
  const Client own = open_client(server, &options);
  std::vector<exs_rpc_call_t*> calls;
  for (int i = 0; i < 2; ++i) calls.push_back(hold_1_begin(own.get(), nullptr));
  EverythingServer::wait_for_held(2);
  std::vector<char> bytes(10'000, 'b');
  const blob longer{static_cast<unsigned>(bytes.size()), bytes.data()};
  exs_rpc_context_t late{};
  late.timeout_ns = kMillisecond;
  exs_rpc_call_t* const overdue = add_1_begin(own.get(), 1, 1, &late);
  exs_rpc_call_t* const cancelled = add_1_begin(own.get(), 1, 1, &context);
  exs_rpc_call_t* const copied = copy_1_begin(own.get(), &longer, nullptr);
  std::vector<exs_rpc_call_t*> sums;
  while (exs_rpc_call_t* const call = add_1_begin(own.get(), static_cast<int>(sums.size()), 1, nullptr))
    sums.push_back(call);
  BOOST_TEST(errno == EAGAIN);
  BOOST_TEST(sums.size() == 17);
  exs_rpc_cancel(cancelled);
  int result = 0;
  BOOST_TEST(outcome(add_1_end(cancelled, &result)) == "ECANCELED");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  BOOST_TEST(outcome(add_1_end(overdue, &result)) == "ETIMEDOUT");
  BOOST_TEST(late.outcome == EXS_RPC_NOT_EXECUTED);
  BOOST_TEST(outcome(release_1(client.get(), &result, nullptr)) == "ok");
  for (std::size_t i = 0; i < sums.size(); ++i) {
    BOOST_TEST(outcome(add_1_end(sums[i], &result)) == "ok");
    BOOST_TEST(result == static_cast<int>(i) + 1);
  }
  blob got{};
  BOOST_TEST(outcome(copy_1_end(copied, &got)) == "ok");
  BOOST_TEST((got.blob_len == bytes.size() && std::memcmp(got.blob_val, bytes.data(), bytes.size()) == 0));
  blob_free(&got);
  for (exs_rpc_call_t* const call : calls) BOOST_TEST(outcome(hold_1_end(call, &result)) == "ok");
}

BOOST_AUTO_TEST_CASE(calls_that_wait_for_slots_when_the_server_ends) {
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.slots = 1;
  options.waiting_max = 1;
  auto own = std::make_unique<EverythingServer>();
  const Client caller = open_client(*own, &options);
  exs_rpc_call_t* const held = hold_1_begin(caller.get(), nullptr);
  EverythingServer::wait_for_held(1);
  exs_rpc_call_t* const waiting = add_1_begin(caller.get(), 1, 1, &context);
  own.reset();
  int result = 0;
  BOOST_TEST(outcome(add_1_end(waiting, &result)) == "ECONNRESET");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
  BOOST_TEST(outcome(hold_1_end(held, &result)) == "ECONNRESET");
}

BOOST_AUTO_TEST_CASE(answers_come_from_other_threads_and_out_of_order) {
  exs_rpc_call_t* const held = begin_held();
  int result = 0;
  BOOST_TEST(outcome(later_1(client.get(), 41, &result, nullptr)) == "ok");
  BOOST_TEST(result == 42);
  BOOST_TEST(exs_rpc_test(held) == 0);
  BOOST_TEST(outcome(release_1(client.get(), &result, nullptr)) == "ok");
  BOOST_TEST(outcome(hold_1_end(held, &result)) == "ok");
  BOOST_TEST(result == 1);
}

// The first thread watches the connection, and the others wait for it.
BOOST_AUTO_TEST_CASE(a_cancel_ends_a_wait_at_once) {
  std::vector<exs_rpc_call_t*> calls;
  std::vector<std::unique_ptr<Ending>> threads;
  for (std::size_t i = 1; i <= 4; ++i) {
    calls.push_back(begin_held(nullptr, i));
    threads.push_back(std::make_unique<Ending>(calls.back()));
  }
  for (const std::size_t i : {1U, 0U, 3U, 2U}) {
    exs_rpc_cancel(calls[i]);
    BOOST_TEST(threads[i]->outcome_at_once() == "ECANCELED");
  }
  BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(threads_share_a_client) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 200;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        int result = 0;
        const int told = i % 4 == 0 ? later_1(client.get(), t, &result, nullptr)
                                    : add_1(client.get(), t, 1, &result, nullptr);
        if (told == 0 && result == t + 1) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(right == kThreads * kCalls);
}

BOOST_AUTO_TEST_CASE(a_server_of_several_threads) {
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.threads = 3;
  const EverythingServer threaded(&options);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      const Client own(everything_one_open(host(), threaded.port().c_str(), nullptr));
      for (int i = 0; i < 100; ++i) {
        int sum = 0;
        if (add_1(own.get(), i, i, &sum, nullptr) == 0 && sum == 2 * i) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(right == 600);
}

// A fault of a procedure is still its own thread's.
BOOST_AUTO_TEST_CASE(threads_of_a_server_take_no_signals) {
  const Threads before = threads_that_take(SIGSEGV);
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.threads = 3;
  const EverythingServer threaded(&options);
  std::vector<Client> clients;  // one for each thread
  for (int i = 0; i < 3; ++i) clients.push_back(open_client(threaded));
  BOOST_TEST(threads_that_take(SIGUSR1, before).size() == 1);  // the one that called exs_rpc_server_run()
  BOOST_TEST(threads_that_take(SIGSEGV, before).size() >= 3);
}

BOOST_AUTO_TEST_CASE(three_hundred_clients_of_two_threads) {
  exs_rpc_server_options_t options{};
  options.struct_bytes = sizeof options;
  options.threads = 2;
  const EverythingServer threaded(&options);
  std::vector<Client> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(open_client(threaded));
  std::vector<exs_rpc_call_t*> calls;
  for (int i = 0; i < 300; ++i)
    calls.push_back(add_1_begin(clients[static_cast<std::size_t>(i)].get(), i, 1, nullptr));
  for (int i = 0; i < 300; ++i) {
    int sum = 0;
    BOOST_TEST(outcome(add_1_end(calls[static_cast<std::size_t>(i)], &sum)) == "ok");
    BOOST_TEST(sum == i + 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
