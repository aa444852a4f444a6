// Messages with tags: calls that wait, and what ends them besides messages. Holds for every provider.
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <exs/msg.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/exs_fixture.h"
#include "tests/support/job.h"

namespace exs::test {
namespace tags_waits_test {

struct Waits {
  Waits() {
    struct sigaction action {};
    action.sa_handler = [](int) {};  // no SA_RESTART
    ::sigaction(SIGUSR1, &action, nullptr);
    for (exm_request_t& request : requests) exm_irecv(ep(), &byte, 1, 1, 5, 0, &request);
  }
  [[nodiscard]] exm_ep_t ep() const { return job[0]; }

  // Each call that waits, of what does not come. `bad`: with a request, or a rank, that is none.
  struct Call {
    const char* name;
    std::function<int(Waits&, std::int64_t timeout_ns, bool bad)> make;
  };
  static const std::vector<Call>& calls();

  Job job{2};
  std::uint8_t byte = 0;
  std::array<exm_request_t, 2> requests{};
};

const std::vector<Waits::Call>& Waits::calls() {
  static const std::vector<Call> all = {
      {"exm_wait",
       [](Waits& w, std::int64_t timeout_ns, bool bad) {
         exm_request_t request = bad ? 12345 : w.requests[0];
         return exm_wait(w.ep(), &request, nullptr, timeout_ns);
       }},
      {"exm_waitany",
       [](Waits& w, std::int64_t timeout_ns, bool bad) {
         std::array<exm_request_t, 2> requests{w.requests[0], bad ? 12345 : w.requests[1]};
         int index = 0;
         return exm_waitany(w.ep(), requests.data(), 2, &index, nullptr, timeout_ns);
       }},
      {"exm_waitsome",
       [](Waits& w, std::int64_t timeout_ns, bool bad) {
         std::array<exm_request_t, 2> requests{w.requests[0], bad ? 12345 : w.requests[1]};
         std::array<int, 2> indices{};
         return exm_waitsome(w.ep(), requests.data(), 2, indices.data(), nullptr, timeout_ns);
       }},
      {"exm_waitall",
       [](Waits& w, std::int64_t timeout_ns, bool bad) {
         std::array<exm_request_t, 2> requests{w.requests[0], bad ? 12345 : w.requests[1]};
         return exm_waitall(w.ep(), requests.data(), 2, nullptr, timeout_ns);
       }},
      {"exm_probe", [](Waits& w, std::int64_t timeout_ns,
                       bool bad) { return exm_probe(w.ep(), bad ? 2 : 1, 6, 0, nullptr, timeout_ns); }},
      {"exm_mprobe",
       [](Waits& w, std::int64_t timeout_ns, bool bad) {
         exm_message_t message = 0;
         return exm_mprobe(w.ep(), bad ? 2 : 1, 6, 0, &message, nullptr, timeout_ns);
       }},
      {"exm_peek",
       [](Waits& w, std::int64_t timeout_ns, bool bad) {
         exm_request_t named = 0;
         if (!bad) return exm_peek(w.ep(), &named, timeout_ns);
         errno = EINVAL;  // of this one nothing can be bad
         return -1;
       }},
  };
  return all;
}

}  // namespace tags_waits_test

BOOST_FIXTURE_TEST_SUITE(tags_waits_test, Waits)

// shows: exm_wait ETIMEDOUT EINVAL, exm_waitany ETIMEDOUT EINVAL, exm_waitsome ETIMEDOUT EINVAL,
// exm_waitall ETIMEDOUT EINVAL, exm_probe ETIMEDOUT EINVAL, exm_mprobe ETIMEDOUT EINVAL, exm_peek ETIMEDOUT
BOOST_AUTO_TEST_CASE(a_wait_ends_with_its_limit_and_changes_nothing) {
  for (const Call& call : calls()) {
    BOOST_TEST_CONTEXT(call.name) {
      for (const std::int64_t timeout_ns : {0, 1'000'000})
        BOOST_TEST(outcome(call.make(*this, timeout_ns, false)) == "ETIMEDOUT");
      BOOST_TEST(outcome(call.make(*this, -1, true)) == "EINVAL");
    }
  }
  for (exm_request_t& request : requests) BOOST_TEST(exm_test(ep(), &request, nullptr) == 0);
}

// shows: exm_wait EINTR, exm_waitany EINTR, exm_waitsome EINTR, exm_waitall EINTR, exm_probe EINTR, exm_mprobe EINTR,
// exm_peek EINTR
BOOST_AUTO_TEST_CASE(a_wait_ends_with_a_signal_and_loses_nothing) {
  for (const Call& call : calls()) {
    std::string ended;
    {
      WaitingThread waiting([&] { ended = outcome(call.make(*this, -1, false)); });
      waiting.await_sleep();
      waiting.interrupt(SIGUSR1);
    }
    BOOST_TEST(ended == "EINTR", call.name);
  }
  BOOST_TEST(exm_send(job[1], "a", 1, 0, 5, 0, 0) == 0);
  BOOST_TEST(exm_send(job[1], "b", 1, 0, 5, 0, 0) == 0);
  BOOST_TEST(exm_waitall(ep(), requests.data(), 2, nullptr, -1) == 0);
}

// Its limit is no error.
// shows: exm_tpoll EINTR
BOOST_AUTO_TEST_CASE(a_poll_ends_with_its_limit_or_a_signal) {
  exm_completion_t end{};
  for (const std::int64_t timeout_ns : {0, 1'000'000}) BOOST_TEST(exm_tpoll(ep(), &end, 1, timeout_ns) == 0);
  std::string ended;
  {
    WaitingThread waiting([&] { ended = outcome(exm_tpoll(ep(), &end, 1, -1)); });
    waiting.await_sleep();
    waiting.interrupt(SIGUSR1);
  }
  BOOST_TEST(ended == "EINTR");
}

// A message wakes whoever sleeps for it, however many threads sleep.
BOOST_AUTO_TEST_CASE(several_threads_sleep_each_for_its_own) {
  constexpr int kThreads = 4;
  std::array<int, kThreads> got{};
  {
    std::deque<WaitingThread> threads;
    for (int tag = 0; tag < kThreads; ++tag) {
      threads.emplace_back([&, tag] {
        if (tag % 2 == 0) {
          exm_recv(ep(), &got[static_cast<std::size_t>(tag)], sizeof(int), 1, 100 + tag, 0, nullptr);
        } else if (exm_probe(ep(), 1, 100 + tag, 0, nullptr, -1) == 0) {
          exm_recv(ep(), &got[static_cast<std::size_t>(tag)], sizeof(int), EXM_ANY_SOURCE, 100 + tag, 0,
                   nullptr);
        }
      });
      threads.back().await_sleep();
    }
    for (int tag = kThreads - 1; tag >= 0; --tag) {
      const int value = 1000 + tag;
      BOOST_TEST(exm_send(job[1], &value, sizeof value, 0, 100 + tag, 0, 0) == 0);
    }
  }
  for (int tag = 0; tag < kThreads; ++tag) BOOST_TEST(got[static_cast<std::size_t>(tag)] == 1000 + tag);
}

// In whatever order they end while the thread sleeps.
BOOST_AUTO_TEST_CASE(a_wait_for_all_ends_after_the_last) {
  using Order = std::array<std::size_t, 4>;
  for (const Order& order : {Order{0, 1, 2, 3}, Order{3, 2, 1, 0}, Order{2, 0, 3, 1}}) {
    std::array<int, 4> got{};
    std::array<exm_request_t, 4> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
      exm_irecv(ep(), &got[i], sizeof(int), 1, 200 + static_cast<int>(i), 0, &all[i]);
    int ended = -1;
    {
      WaitingThread waiting([&] { ended = exm_waitall(ep(), all.data(), 4, nullptr, -1); });
      for (const std::size_t i : order) {
        waiting.await_sleep();
        const int value = 2000 + static_cast<int>(i);
        BOOST_TEST(exm_send(job[1], &value, sizeof value, 0, 200 + static_cast<int>(i), 0, 0) == 0);
      }
    }
    BOOST_TEST(ended == 0);
    BOOST_TEST((got == std::array<int, 4>{2000, 2001, 2002, 2003}));
  }
}

// shows: exm_init EADDRINUSE
BOOST_AUTO_TEST_CASE(an_address_that_somebody_has_is_refused) {
  const ListeningSocket taken;
  const std::string own = "127.0.0.1:" + std::to_string(ntohs(taken.address().sin_port));
  char host[INET_ADDRSTRLEN];
  const sockaddr_in address = taken.address();
  inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
  const std::string name = std::string(host) + ":" + std::to_string(ntohs(address.sin_port));
  const std::array<const char*, 2> addresses{name.c_str(), own.c_str()};
  exm_config_t config{};
  config.struct_bytes = sizeof config;
  config.size = 2;
  config.addresses = addresses.data();
  exm_ep_t made = nullptr;
  BOOST_TEST(outcome(exm_init(&config, &made)) == "EADDRINUSE");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
