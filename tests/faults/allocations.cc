// The n-th allocation of the library fails, for every n: a call is refused with ENOMEM, or its operation ends in
// one event; closing returns; nothing stays in use; and the next connection works. Each round is a process.
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
#include <new>
#include <string>

#include "tests/faults/scarce_scenarios.h"

namespace exs::test {
namespace {

constexpr int kRoundLimitMs = 10'000;  // only a hang takes this long
constexpr std::uint32_t kAllocationsMax = 3000;

void run_round(const Scenario& scenario, std::uint32_t fails_at, std::uint32_t how_many) {
  World world;
  if (scenario.connects_first) world.connect(scenario.type);
  if (scenario.connects_first && (world.left < 0 || world.right < 0))
    return violation("no connection before");
  count_allocations(fails_at, how_many);
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
constexpr std::uint32_t kRoundsAtOnce = 4;
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

pid_t begin_round(const Scenario& scenario, std::uint32_t fails_at, std::uint32_t how_many, Report& told) {
  told = {};
  std::cout.flush();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::signal(SIGABRT, SIG_DFL);
  report = &told;
  run_round(scenario, fails_at, how_many);
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

void fail_each(const Scenario& scenario, std::uint32_t how_many) {
  std::uint32_t first = 0;
  for (bool more = true; more && first < kAllocationsMax; first += kRoundsAtOnce) {
    pid_t rounds[kRoundsAtOnce];
    for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i)
      rounds[i] = begin_round(scenario, first + i, how_many, reports[i]);
    more = false;
    for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i) {
      const std::string wrong = end_round(rounds[i], reports[i]);
      if (!wrong.empty()) BOOST_ERROR(scenario.name << ", allocation " << first + i << ": " << wrong);
      more = more || reports[i].failed || !wrong.empty();
    }
  }
  BOOST_TEST_MESSAGE(scenario.name << ": some " << first << " allocations, one after the other");
  BOOST_TEST(first > kRoundsAtOnce);
  BOOST_TEST(first < kAllocationsMax);
}

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(SharedReports);

namespace data = boost::unit_test::data;

BOOST_DATA_TEST_CASE(each_allocation_may_fail, data::xrange(scarce_scenarios().size()), number) {
  BOOST_TEST_CONTEXT(scarce_scenarios()[number].name) {
    fail_each(scarce_scenarios()[number], 1);
  }
}

// What was begun for want of memory needs memory itself.
BOOST_DATA_TEST_CASE(several_may_fail_in_a_row, data::xrange(scarce_scenarios().size()), number) {
  BOOST_TEST_CONTEXT(scarce_scenarios()[number].name) {
    fail_each(scarce_scenarios()[number], kInARow);
  }
}

}  // namespace exs::test
