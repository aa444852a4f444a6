// Messages with tags when a rank dies or stops: what the others hear of it. Holds for every provider.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/msg.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/exs_fixture.h"
#include "tests/support/fork_server.h"
#include "tests/support/job.h"

namespace exs::test {
namespace tags_ends_test {

constexpr std::int64_t kWaitNs = std::int64_t{kHangLimitSeconds} * 1'000'000'000;

// Its failures are failures of what the others see.
void tell_all_but(exm_ep_t ep, int rank) {
  for (int to = 0; to < exm_size(ep); ++to) {
    if (to != rank) exm_send(ep, nullptr, 0, to, 1, 0, 0);
  }
}

void wait_for_ever(exm_ep_t ep) {
  exm_recv(ep, nullptr, 0, EXM_ANY_SOURCE, 99, 0, nullptr);
}

void send_and_announce(exm_ep_t ep) {
  const std::uint32_t number = 4711;
  const std::vector<std::uint8_t> much(1 << 20);
  exm_request_t never = 0;
  exm_send(ep, &number, sizeof number, 0, 2, 0, 0);
  exm_isend(ep, much.data(), much.size(), 0, 4, 0, 0, &never);
  exm_isend(ep, much.data(), much.size(), 0, 3, 0, 0, &never);
  tell_all_but(ep, 1);
  exm_wait(ep, &never, nullptr, -1);
}

void receive_and_send(exm_ep_t ep) {
  tell_all_but(ep, 1);
  std::vector<std::uint8_t> got(1 << 20);
  for (;;) {
    exm_recv(ep, got.data(), got.size(), 0, EXM_ANY_TAG, 0, nullptr);
    exm_send(ep, got.data(), 60'000, 0, 4, 0, 0);
  }
}

// Ranks that die, each of a job of its own. They are forked by a process that never used an RDMA device: one that did has
// children without.
class Mortals {
 public:
  enum Life : std::uint32_t { kOneOfThree, kSender, kReceiver, kReceiverAgain, kReceiverOnceMore, kLives };

  Mortals() {
    for (std::uint32_t life = 0; life < kLives; ++life) jobs_.emplace_back(life == kOneOfThree ? 3 : 2);
    server_.emplace([this](std::uint32_t life, const ForkServer::TellPort& tell_born) {
      tell_born(1);
      live(static_cast<Life>(life));
      return 0;
    });
    current_ = this;
  }
  ~Mortals() { current_ = nullptr; }
  Mortals(const Mortals&) = delete;
  Mortals& operator=(const Mortals&) = delete;

  static Mortals& get() { return *current_; }
  const JobPorts& job(Life life) { return jobs_[life]; }
  void bear(Life life) {
    server_->start(life);
    pid_ = next_report().pid;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    BOOST_TEST(next_report().port == 0);  // it has ended
  }

 private:
  void live(Life life) {
    const exm_ep_t ep = jobs_[life].join(jobs_[life].size() - 1);
    switch (life) {
      case kOneOfThree: tell_all_but(ep, 2); return wait_for_ever(ep);
      case kSender: return send_and_announce(ep);
      default: return receive_and_send(ep);
    }
  }
  [[nodiscard]] ForkServer::Report next_report() const {
    const auto report = server_->next_report(kHangLimitSeconds * 1000);
    BOOST_REQUIRE(report.has_value());
    return *report;
  }

  static inline Mortals* current_ = nullptr;
  std::deque<JobPorts> jobs_;
  std::optional<ForkServer> server_;
  pid_t pid_ = 0;
};

void await_word(exm_ep_t ep, int from) {
  exm_request_t word = 0;
  BOOST_REQUIRE_EQUAL(exm_irecv(ep, nullptr, 0, from, 1, 0, &word), 0);
  BOOST_REQUIRE_EQUAL(exm_wait(ep, &word, nullptr, kWaitNs), 0);
}

}  // namespace tags_ends_test

BOOST_AUTO_TEST_SUITE(tags_ends_test, *boost::unit_test::fixture<Mortals>())

// shows: exm_send ECONNRESET, exm_recv ECONNRESET, exm_probe ECONNRESET, exm_mprobe ECONNRESET
BOOST_AUTO_TEST_CASE(a_death_is_told_to_all_that_wait_for_the_dead) {
  Mortals& mortals = Mortals::get();
  const JobPorts& ports = mortals.job(Mortals::kOneOfThree);
  mortals.bear(Mortals::kOneOfThree);
  exm_ep_t a = ports.join(0);
  exm_ep_t b = ports.join(1);
  await_word(a, 2);
  await_word(b, 2);
  std::array<std::uint8_t, 8> byte{};
  std::vector<std::uint8_t> much(1 << 20);
  std::array<exm_request_t, 4> requests{};
  BOOST_REQUIRE_EQUAL(exm_irecv(a, byte.data(), 1, 2, 5, 0, &requests[0]), 0);
  BOOST_REQUIRE_EQUAL(exm_irecv(a, &byte[1], 1, EXM_ANY_SOURCE, 6, 0, &requests[1]), 0);
  BOOST_REQUIRE_EQUAL(exm_irecv(a, &byte[2], 1, 1, 7, 0, &requests[2]), 0);
  BOOST_REQUIRE_EQUAL(exm_isend(a, much.data(), much.size(), 2, 8, 0, 0, &requests[3]), 0);
  mortals.kill();
  BOOST_TEST(outcome(exm_wait(a, &requests[0], nullptr, kWaitNs)) == "ECONNRESET");
  BOOST_TEST(outcome(exm_wait(a, &requests[1], nullptr, kWaitNs)) == "ECONNRESET");
  BOOST_TEST(outcome(exm_wait(a, &requests[3], nullptr, kWaitNs)) == "ECONNRESET");
  BOOST_TEST(exm_test(a, &requests[2], nullptr) == 0);
  BOOST_TEST(outcome(exm_recv(b, byte.data(), 1, 2, 5, 0, nullptr)) == "ECONNRESET");
  BOOST_TEST(outcome(exm_send(b, byte.data(), 1, 2, 5, 0, 0)) == "ECONNRESET");
  exm_message_t message = 0;
  BOOST_TEST(outcome(exm_probe(b, 2, 5, 0, nullptr, kWaitNs)) == "ECONNRESET");
  BOOST_TEST(outcome(exm_mprobe(b, EXM_ANY_SOURCE, 5, 0, &message, nullptr, kWaitNs)) == "ECONNRESET");

  // The others go on. A receive from any source waits for them when it is known that one has died.
  BOOST_TEST(outcome(exm_recv(a, byte.data(), 1, EXM_ANY_SOURCE, 6, 0, nullptr)) == "ECONNRESET");
  std::array<int, 3> failed{};
  BOOST_TEST(exm_failed(a, failed.data(), 3) == 1);
  BOOST_TEST(failed[0] == 2);
  BOOST_REQUIRE_EQUAL(exm_irecv(a, byte.data(), 1, EXM_ANY_SOURCE, 6, 0, &requests[1]), 0);
  BOOST_TEST(exm_send(b, "x", 1, 0, 6, 0, 0) == 0);
  BOOST_TEST(exm_send(b, "y", 1, 0, 7, 0, 0) == 0);
  BOOST_TEST(outcome(exm_wait(a, &requests[1], nullptr, kWaitNs)) == "ok");
  BOOST_TEST(outcome(exm_wait(a, &requests[2], nullptr, kWaitNs)) == "ok");
  BOOST_TEST(exm_finalize(a) == 0);
  BOOST_TEST(exm_finalize(b) == 0);
}

// shows: exm_mrecv ECONNRESET
BOOST_AUTO_TEST_CASE(what_the_dead_had_sent_can_be_received) {
  Mortals& mortals = Mortals::get();
  mortals.bear(Mortals::kSender);
  exm_ep_t ep = mortals.job(Mortals::kSender).join(0);
  await_word(ep, 1);
  exm_message_t announced = 0;
  BOOST_REQUIRE_EQUAL(exm_mprobe(ep, 1, 4, 0, &announced, nullptr, kWaitNs), 0);
  mortals.kill();
  std::uint32_t number = 0;
  BOOST_TEST(outcome(exm_recv(ep, &number, sizeof number, 1, 99, 0, nullptr)) == "ECONNRESET");
  BOOST_TEST(outcome(exm_recv(ep, &number, sizeof number, 1, 2, 0, nullptr)) == "ok");
  BOOST_TEST(number == 4711U);
  // Only announced: its bytes went with the process.
  BOOST_TEST(outcome(exm_recv(ep, nullptr, 0, 1, 3, 0, nullptr)) == "ECONNRESET");
  BOOST_TEST(outcome(exm_mrecv(ep, nullptr, 0, &announced, nullptr)) == "ECONNRESET");
  BOOST_TEST(exm_finalize(ep) == 0);
}

BOOST_AUTO_TEST_CASE(messages_of_all_lengths_are_under_way_when_a_rank_dies) {
  const std::array<std::pair<Mortals::Life, unsigned>, 3> kills = {
      {{Mortals::kReceiver, 1}, {Mortals::kReceiverAgain, 5}, {Mortals::kReceiverOnceMore, 20}}};
  for (const auto& [life, killed_after] : kills) {
    BOOST_TEST_CONTEXT("after " << killed_after) {
      Mortals& mortals = Mortals::get();
      mortals.bear(life);
      exm_ep_t ep = mortals.job(life).join(0);
      await_word(ep, 1);
      const std::vector<std::uint8_t> much(1 << 20);
      std::vector<std::uint8_t> back(60'000);
      constexpr std::array<std::size_t, 5> kSizes = {8, 20'000, 100'000, 1 << 20, 0};
      std::vector<exm_request_t> requests;
      for (unsigned i = 0; i < 200; ++i) {
        requests.push_back(0);
        exm_irecv(ep, back.data(), back.size(), 1, 4, 0, &requests.back());
        requests.push_back(0);
        if (exm_isend(ep, much.data(), kSizes[i % kSizes.size()], 1, static_cast<int>(i), 0, 0,
                      &requests.back()) != 0)
          break;
        if (i == killed_after) mortals.kill();
      }
      // Each ends, well or not.
      exm_waitall(ep, requests.data(), static_cast<int>(requests.size()), nullptr, kWaitNs);
      for (const exm_request_t request : requests) BOOST_TEST(request == 0U);
      int failed = 0;
      BOOST_TEST(exm_failed(ep, &failed, 1) == 1);
      BOOST_TEST(exm_finalize(ep) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_never_came_is_dead) {
  const JobPorts ports(2);
  exm_ep_t ep = ports.join(0, [](exm_config_t& config) { config.connect_timeout_ms = 300; });
  BOOST_TEST(outcome(exm_send(ep, "x", 1, 1, 1, 0, 0)) == "ECONNRESET");
  BOOST_TEST(exm_failed(ep, nullptr, 0) == 1);
  BOOST_TEST(exm_finalize(ep) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
