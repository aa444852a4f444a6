// What an endpoint tells when it leaves: an error when something that it was given to send has not arrived, and none when all has.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/message/ep.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/job.h"

namespace exs::test {
namespace finalize_test {

constexpr std::int64_t kWaitNs = std::int64_t{kHangLimitSeconds} * 1'000'000'000;
constexpr std::uint64_t kShortNs = 20'000'000;
constexpr std::uint64_t kLongNs = std::uint64_t{kHangLimitSeconds} * 1'000'000'000;

struct Kind {
  const char* name;
  std::size_t bytes;
  unsigned flags;
};
// Of each way that a message waits at its sender until a receive has matched it.
constexpr Kind kOpenUntilMatched[] = {{"read by its receiver", 1 << 20, 0},
                                      {"synchronous", 8, EXM_SYNC},
                                      {"synchronous and long", 1 << 20, EXM_SYNC}};

class Two {
 public:
  [[nodiscard]] exm_ep_t operator[](int rank) const { return job_[rank]; }
  // With a limit of the test's. What exm_finalize does besides follows when the job ends.
  Status leave(int rank, std::uint64_t limit_ns) { return job_[rank]->endpoint->finalize(limit_ns); }
  exm_request_t send(const Kind& kind, int tag) {
    exm_request_t sent = 0;
    BOOST_REQUIRE_EQUAL(exm_isend(job_[0], memory_.data(), kind.bytes, 1, tag, 0, kind.flags, &sent), 0);
    return sent;
  }
  // So that they are connected, and nothing is under way.
  void meet() {
    std::uint8_t byte = 1;
    BOOST_REQUIRE_EQUAL(exm_send(job_[0], &byte, 1, 1, 1, 0, 0), 0);
    BOOST_REQUIRE_EQUAL(exm_recv(job_[1], &byte, 1, 0, 1, 0, nullptr), 0);
  }
  void await_end(int rank, exm_request_t request) {
    const Request& found = *job_[rank]->endpoint->find(request);
    while (found.state.load(std::memory_order_acquire) != Request::State::kEnded) std::this_thread::yield();
  }
  // Until rank 1 knows of a message with that tag.
  void announced(int tag) { BOOST_REQUIRE_EQUAL(exm_probe(job_[1], 0, tag, 0, nullptr, kWaitNs), 0); }

 private:
  const std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(1 << 20, 7);
  Job job_{2};
};

}  // namespace finalize_test

BOOST_AUTO_TEST_SUITE(finalize_test)

BOOST_AUTO_TEST_CASE(what_nobody_receives_in_time_is_told_of) {
  for (const Kind& kind : kOpenUntilMatched) {
    BOOST_TEST_CONTEXT(kind.name) {
      Two two;
      two.meet();
      two.send(kind, 5);
      two.announced(5);
      BOOST_TEST((two.leave(0, kShortNs) == Status(ETIMEDOUT)));
    }
  }
}

BOOST_AUTO_TEST_CASE(it_is_told_of_without_a_connection_that_was_there_before) {
  Two two;
  two.send(kOpenUntilMatched[0], 5);
  BOOST_TEST((two.leave(0, kShortNs) == Status(ETIMEDOUT)));
}

BOOST_AUTO_TEST_CASE(one_of_many_is_enough) {
  Two two;
  two.meet();
  for (int tag = 5; tag < 8; ++tag) two.send(kOpenUntilMatched[0], tag);
  two.announced(7);
  std::vector<std::uint8_t> got(1 << 20);
  BOOST_REQUIRE_EQUAL(exm_recv(two[1], got.data(), got.size(), 0, 5, 0, nullptr), 0);
  BOOST_REQUIRE_EQUAL(exm_recv(two[1], got.data(), got.size(), 0, 7, 0, nullptr), 0);
  BOOST_TEST((two.leave(0, kShortNs) == Status(ETIMEDOUT)));
}

BOOST_AUTO_TEST_CASE(what_is_received_meanwhile_is_none) {
  for (const Kind& kind : kOpenUntilMatched) {
    BOOST_TEST_CONTEXT(kind.name) {
      Two two;
      two.meet();
      two.send(kind, 5);
      two.announced(5);
      Status left(EINVAL);
      std::thread leaving([&] { left = two.leave(0, kLongNs); });
      std::vector<std::uint8_t> got(1 << 20);
      BOOST_TEST(exm_recv(two[1], got.data(), got.size(), 0, 5, 0, nullptr) == 0);
      leaving.join();
      BOOST_TEST(left.ok());
      BOOST_TEST(int{got[kind.bytes - 1]} == 7);
    }
  }
}

// The message is gone, whether or not its sender would have had time to wait.
BOOST_AUTO_TEST_CASE(a_rank_that_leaves_without_it_is_told_of) {
  for (const Kind& kind : kOpenUntilMatched) {
    BOOST_TEST_CONTEXT(kind.name) {
      Two two;
      two.meet();
      two.send(kind, 5);
      two.announced(5);
      // It ends when the rank begins to leave.
      exm_request_t receive = 0;
      BOOST_REQUIRE_EQUAL(exm_irecv(two[0], nullptr, 0, 1, 6, 0, &receive), 0);
      Status left;
      std::thread leaving([&] { left = two.leave(0, kLongNs); });
      two.await_end(0, receive);
      BOOST_TEST(two.leave(1, kLongNs).ok());
      leaving.join();
      BOOST_TEST((left == Status(EPIPE)));
    }
  }
}

// The rank dies while the call waits for it.
BOOST_AUTO_TEST_CASE(a_rank_that_dies_without_it_is_told_of) {
  const JobPorts ports(2);
  const exm_ep_t ep = ports.join(0);
  const std::uint8_t byte = 7;
  exm_request_t send = 0;
  BOOST_REQUIRE_EQUAL(exm_isend(ep, &byte, 1, 1, 5, 0, 0, &send), 0);
  exm_request_t receive = 0;
  BOOST_REQUIRE_EQUAL(exm_irecv(ep, nullptr, 0, 1, 6, 0, &receive), 0);
  const Request& begun = *ep->endpoint->find(receive);
  Status left;
  std::thread leaving([&] { left = ep->endpoint->finalize(kLongNs); });
  while (begun.state.load(std::memory_order_acquire) != Request::State::kEnded) std::this_thread::yield();
  ep->endpoint->shard()->carry_out([&] { ep->endpoint->note_death(1); });
  leaving.join();
  BOOST_TEST((left == Status(ECONNRESET)));
  exm_finalize(ep);
}

BOOST_AUTO_TEST_CASE(a_rank_that_never_comes_is_told_of) {
  const JobPorts ports(2);
  const exm_ep_t ep = ports.join(0, [](exm_config_t& config) { config.connect_timeout_ms = 50; });
  const std::uint8_t byte = 7;
  exm_request_t send = 0;
  BOOST_REQUIRE_EQUAL(exm_isend(ep, &byte, 1, 1, 5, 0, EXM_SYNC, &send), 0);
  BOOST_TEST(exm_finalize(ep) == -1);
  BOOST_TEST(errno == ECONNRESET);
  BOOST_TEST(std::string(exs_errtext()).find("rank 1") != std::string::npos, exs_errtext());
}

BOOST_AUTO_TEST_CASE(what_ended_before_has_told_itself) {
  Two two;
  two.meet();
  const exm_request_t send = two.send(kOpenUntilMatched[0], 5);
  two.announced(5);
  BOOST_TEST(two.leave(1, kLongNs).ok());
  two.await_end(0, send);
  BOOST_TEST(two.leave(0, kLongNs).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
