// The n-th kernel call of a client and its server fails, for every n: each call ends, with an error or what is right; no descriptor stays
// open; and the next client and server work. Each round is a process. The calls of libexs below are among them.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/rpc/faults/rounds.h"
#include "tests/rpc/faults/scarce_calls.h"
#include "tests/support/faulty_kernel.h"

namespace exs::test {

namespace {

constexpr std::uint32_t kCallsMax = 5000;
constexpr int kRoundsToAgree = 3;

// Returns the name of the call that failed; null: there are not so many.
const char* fail_call(std::uint32_t call) {
  const SharedObject<FaultPlan> plan;
  plan->fails_at = call;
  const pid_t round = begin_round([&] {
    follow(&*plan);
    run_disturbed_calls([&] { plan->counts = true; }, [&] { plan->counts = false; });
  });
  const std::string wrong = end_round(round);
  const char* const failed = plan->failed;
  if (!wrong.empty())
    BOOST_ERROR("call " << call << ", " << (failed == nullptr ? "none" : failed) << ": " << wrong);
  return failed;
}

// How many calls there are differs from round to round, so some more rounds must agree that it was the last one.
bool fail_within(int rounds, std::uint32_t call) {
  for (int i = 0; i < rounds; ++i)
    if (fail_call(call) != nullptr) return true;
  return false;
}

}  // namespace

LibraryCall::LibraryCall() = default;
LibraryCall::~LibraryCall() = default;

BOOST_AUTO_TEST_CASE(each_kernel_call_may_fail) {
  std::uint32_t call = 0;
  while (call < kCallsMax && fail_within(kRoundsToAgree, call)) ++call;
  BOOST_TEST_MESSAGE(call << " calls, one after the other");
  BOOST_TEST(call > 10U);  // else nothing was tested
  BOOST_TEST(call < kCallsMax);
}

}  // namespace exs::test
