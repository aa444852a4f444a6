// Allocations of the library fail: the n-th, for every n, and some by chance. A call is refused with ENOMEM, or its
// operation ends in one event; closing returns; nothing stays in use; and the next connection works. Each round is a
// process. Of shortages by chance there are more with
//   test-allocations --run_test=any_may_fail -- --seconds 600 --seed 1
// SPDX-License-Identifier: BSD-2-Clause
#define BOOST_TEST_MODULE allocations
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <new>
#include <string>

#include "base/clock.h"
#include "tests/faults/scarce_scenarios.h"

namespace exs::test {
namespace {

constexpr int kRoundLimitMs = 120'000;   // only a hang takes this long, in a guest of a busy machine, too
constexpr int kConnectLimitMs = 60'000;  // of a connection that nothing is to keep from coming
constexpr std::uint32_t kAllocationsMax = 3000;
constexpr std::uint32_t kRoundsByChance = kSanitized ? 8 : 40;  // of each scenario
// A sanitized process takes a hundred times as long to start and to look for leaks, so there every second allocation fails; rounds
// of several that fail in a row overlap most of the one before, and of these there is one in five.
constexpr std::uint32_t kStepInARow = kSanitized ? 5 : 1;

void run_round(const Scenario& scenario, const Shortage& shortage) {
  World world;
  if (scenario.connects_first) world.connect(scenario.type, 0, kConnectLimitMs);
  if (scenario.connects_first && (world.left < 0 || world.right < 0))
    return violation("no connection before");
  count_allocations(shortage);
  scenario.run(world);
  if (!world.library_has_ended) {
    world.close_all();
    world.await_all(100);
  }
  report->failed = stop_counting_allocations();
  world.check_nothing_is_used();
}

// The library is as good as new afterwards.
void check_that_all_works() {
  const InitializedLibrary library;
  Queue queue(16);
  Memory memory(2 * kSmallBytes);
  const Pair pair(queue);
  exs_recv(pair.right, memory.at(), kSmallBytes, 0, queue.handle(), nullptr, memory.handle());
  exs_send(pair.left, memory.at(kSmallBytes), kSmallBytes, 0, queue.handle(), nullptr, memory.handle());
  if (queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_errno != 0)
    violation("the next connection does not work");
}

// What the rounds that run at the same moment tell; most of the time they wait.
constexpr std::uint32_t kRoundsAtOnce = 8;
Report* reports = nullptr;

struct SharedReports {
  SharedReports()
      : memory(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    reports = new (memory) Report[kRoundsAtOnce];
  }
  ~SharedReports() { ::munmap(memory, kBytes); }
  SharedReports(const SharedReports&) = delete;
  SharedReports& operator=(const SharedReports&) = delete;
  static constexpr std::size_t kBytes = kRoundsAtOnce * sizeof(Report);
  void* memory;
};

// A signal would not do: threads that wait for events hold it back.
bool ends_in_time(pid_t pid) {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  pollfd asked{descriptor, POLLIN, 0};
  const bool ended = ::poll(&asked, 1, kRoundLimitMs) == 1;
  ::close(descriptor);
  return ended;
}

pid_t begin_round(const Scenario& scenario, const Shortage& shortage, Report& told) {
  told = {};
  std::cout.flush();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::signal(SIGABRT, SIG_DFL);
  report = &told;
  run_round(scenario, shortage);
  check_that_all_works();
  std::exit(0);
}

// Returns what went wrong; empty: nothing.
std::string end_round(pid_t pid, const Report& told) {
  const bool hangs = !ends_in_time(pid);
  if (hangs) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) != pid) continue;
  if (hangs) return "a hang";
  if (told.violation[0] != '\0') return told.violation;
  if (WIFSIGNALED(status)) return ::strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(status));
}

// Runs some rounds at the same moment. Returns whether an allocation failed in one of them.
template <typename ShortageOf>
bool run_rounds(const Scenario& scenario, std::uint32_t first, ShortageOf shortage_of) {
  pid_t rounds[kRoundsAtOnce];
  for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i)
    rounds[i] = begin_round(scenario, shortage_of(first + i), reports[i]);
  bool some_failed = false;
  for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i) {
    const std::string wrong = end_round(rounds[i], reports[i]);
    if (!wrong.empty()) BOOST_ERROR(scenario.name << ", round " << first + i << ": " << wrong);
    some_failed = some_failed || reports[i].failed || !wrong.empty();
  }
  return some_failed;
}

void fail_each(const Scenario& scenario, std::uint32_t how_many, std::uint32_t step) {
  std::uint32_t first = 0;
  const auto shortage_of = [&](std::uint32_t round) { return Shortage{round * step, how_many, 0, 0}; };
  while (first < kAllocationsMax && run_rounds(scenario, first, shortage_of)) first += kRoundsAtOnce;
  BOOST_TEST_MESSAGE(scenario.name << ": some " << first * step << " allocations, one after the other");
  BOOST_TEST(first > 0);
  BOOST_TEST(first < kAllocationsMax);
}

// From one allocation in three, with which little begins, to one in 50, with which much is under way.
Shortage shortage_by_chance(std::uint32_t seed) {
  constexpr std::uint32_t kOneIn[] = {3, 8, 20, 50};
  return {0, 0, kOneIn[seed % std::size(kOneIn)], seed};
}

// As the command says; what it does not say is what the tests do by themselves.
struct Wishes {
  std::uint64_t seconds = 0;  // 0: a number of rounds
  std::uint32_t seed = 1;
  std::uint32_t step = kSanitized ? 2 : 1;  // each_allocation_may_fail: of so many, one
};

Wishes parse_wishes() {
  Wishes wishes;
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; i += 2) {
    const std::string option = suite.argv[i];
    const std::uint64_t value = std::strtoull(suite.argv[i + 1], nullptr, 10);
    if (option == "--seconds") wishes.seconds = value;
    if (option == "--step") wishes.step = static_cast<std::uint32_t>(value);
    if (option == "--seed") wishes.seed = static_cast<std::uint32_t>(value);
  }
  return wishes;
}

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(SharedReports);

namespace data = boost::unit_test::data;

BOOST_DATA_TEST_CASE(each_allocation_may_fail, data::xrange(scarce_scenarios().size()), number) {
  BOOST_TEST_CONTEXT(scarce_scenarios()[number].name) {
    fail_each(scarce_scenarios()[number], 1, parse_wishes().step);
  }
}

// What was begun for want of memory needs memory itself.
BOOST_DATA_TEST_CASE(several_may_fail_in_a_row, data::xrange(scarce_scenarios().size()), number) {
  BOOST_TEST_CONTEXT(scarce_scenarios()[number].name) {
    fail_each(scarce_scenarios()[number], kInARow, kStepInARow);
  }
}

// A lack of memory lasts, and comes when much else goes on.
BOOST_AUTO_TEST_CASE(any_may_fail) {
  const Wishes wishes = parse_wishes();
  const std::uint64_t end_ns = monotonic_ns() + wishes.seconds * 1000 * kNsPerMs;
  std::uint32_t seed = wishes.seed;
  bool some_failed = false;
  do {
    for (const Scenario& scenario : scarce_scenarios())
      some_failed = run_rounds(scenario, seed, shortage_by_chance) || some_failed;
    seed += kRoundsAtOnce;
  } while (wishes.seconds == 0 ? seed < wishes.seed + kRoundsByChance : monotonic_ns() < end_ns);
  BOOST_TEST_MESSAGE("the next: --seed " << seed);
  BOOST_TEST(some_failed);
}

}  // namespace exs::test
