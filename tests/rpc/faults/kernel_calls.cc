// The n-th kernel call of a client and its server fails, for every n: each call ends, with an error or what is right; no descriptor stays
// open; and the next client and server work. Each round is a process. The calls of libexs below are among them.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>

#include "tests/rpc/faults/rounds.h"
#include "tests/rpc/faults/scarce_calls.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/faulty_kernel.h"

namespace exs::test {

namespace {

constexpr std::uint32_t kCallsMax = 5000;
constexpr std::uint32_t kStep = kSanitized ? 3 : 1;  // with checks a round takes long
constexpr std::uint32_t kRoundsAtOnce = 4;
constexpr int kRoundsToAgree = 3;

pid_t begin_fault(std::uint32_t call, FaultPlan& plan) {
  plan.fails_at = call;
  return begin_round([&plan] {
    follow(&plan);
    run_disturbed_calls([&plan] { plan.counts = true; }, [&plan] { plan.counts = false; });
  });
}

// Fails some calls, each in a round of its own, at the same moment. Returns whether there was one of the last round.
bool fail_calls(std::uint32_t first) {
  const SharedObject<std::array<FaultPlan, kRoundsAtOnce>> plans;
  std::array<pid_t, kRoundsAtOnce> rounds;
  for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i) rounds[i] = begin_fault(first + i * kStep, (*plans)[i]);
  for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i) {
    const std::string wrong = end_round(rounds[i]);
    const char* const failed = (*plans)[i].failed;
    if (!wrong.empty())
      BOOST_ERROR("call " << first + i * kStep << ", " << (failed == nullptr ? "none" : failed) << ": "
                          << wrong);
  }
  return plans->back().failed != nullptr;
}

// How many calls there are differs from round to round, so some more rounds must agree that it was the last one.
bool fail_within(int tries, std::uint32_t first) {
  for (int i = 0; i < tries; ++i)
    if (fail_calls(first)) return true;
  return false;
}

}  // namespace

LibraryCall::LibraryCall() = default;
LibraryCall::~LibraryCall() = default;

BOOST_AUTO_TEST_CASE(each_kernel_call_may_fail) {
  std::uint32_t call = 0;
  while (call < kCallsMax && fail_within(kRoundsToAgree, call)) call += kStep * kRoundsAtOnce;
  BOOST_TEST_MESSAGE("some " << call << " calls, in steps of " << kStep);
  BOOST_TEST(call > 10U);  // else nothing was tested
  BOOST_TEST(call < kCallsMax);
}

}  // namespace exs::test
