// The n-th allocation of a client and its server fails, for every n: each call ends, with an error or what is right; nothing stays in use;
// and the next client and server work. Each round is a process.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>
#include <optional>

#include "tests/rpc/faults/rounds.h"
#include "tests/rpc/faults/scarce_calls.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/failing_allocations.h"

namespace exs::test {

namespace {

constexpr std::uint32_t kAllocationsMax = 5000;
constexpr std::uint32_t kRoundsAtOnce = 4;

thread_local bool t_counts = false;
thread_local std::optional<CountedCall> t_call;

struct Told {
  std::atomic<bool> failed{false};
};

pid_t begin_shortage(const Shortage& shortage, Told& told) {
  told.failed = false;
  return begin_round([&] {
    run_disturbed_calls(
        [&] {
          count_allocations(shortage);
          t_counts = true;
        },
        [&] {
          t_counts = false;
          told.failed = stop_counting_allocations();
        });
  });
}

// Runs some rounds at the same moment. Returns whether an allocation failed in one of them.
bool run_rounds(std::uint32_t first, std::uint32_t step, std::uint32_t how_many) {
  const SharedObject<std::array<Told, kRoundsAtOnce>> told;
  std::array<pid_t, kRoundsAtOnce> rounds;
  for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i)
    rounds[i] = begin_shortage({(first + i) * step, how_many, 0, 0}, (*told)[i]);
  bool some_failed = false;
  for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i) {
    const std::string wrong = end_round(rounds[i]);
    if (!wrong.empty()) BOOST_ERROR("allocation " << (first + i) * step << ": " << wrong);
    some_failed = some_failed || (*told)[i].failed || !wrong.empty();
  }
  return some_failed;
}

void fail_each(std::uint32_t step, std::uint32_t how_many) {
  std::uint32_t first = 0;
  while (first * step < kAllocationsMax && run_rounds(first, step, how_many)) first += kRoundsAtOnce;
  BOOST_TEST_MESSAGE("some " << first * step << " allocations, one after the other");
  BOOST_TEST(first > 0U);  // else nothing was tested
  BOOST_TEST(first * step < kAllocationsMax);
}

}  // namespace

LibraryCall::LibraryCall() {
  if (t_counts) t_call.emplace();
}
LibraryCall::~LibraryCall() {
  t_call.reset();
}

BOOST_AUTO_TEST_CASE(each_allocation_may_fail) {
  fail_each(kSanitized ? 3 : 1, 1);
}

BOOST_AUTO_TEST_CASE(several_may_fail_in_a_row) {
  fail_each(kSanitized ? 10 : 3, 5);
}

}  // namespace exs::test
