// The n-th kernel call, or the n-th allocation, of a program that uses libfabric fails, for every n. A call of libfabric is refused with a
// reason, or its transfer completes once. Closing works, no descriptor stays open, and the next endpoints work. Each round is a process
// with two endpoints.
// SPDX-License-Identifier: BSD-2-Clause
#define BOOST_TEST_MODULE fabric_faults
#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "tests/fabric/faults/struck_end.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/faulty_kernel.h"

namespace exs::test {
namespace {

constexpr int kRoundLimitMs = 120'000;  // only a hang takes this long
constexpr int kStruckLooks = 1'500;     // of 20 ms: longer than a peer has time to connect
constexpr int kPeekLooks = 50;
constexpr std::uint32_t kRoundsAtOnce = 8;
constexpr std::uint32_t kFaultsMax = 4000;
constexpr std::size_t kSmallBytes = 64;
constexpr std::size_t kLargeBytes = 200'000;
constexpr std::uint64_t kSmallTag = 1, kLargeTag = 2, kClaimedTag = 3, kNeverTag = 4;

enum class FaultKind : std::uint8_t { kKernelCall, kAllocation };

// What the rounds that run at the same moment share with their parent.
struct SharedRound {
  FaultPlan plan;
  RoundReport report;
};

class SharedRounds {
 public:
  SharedRounds() : rounds_(new (map()) SharedRound[kRoundsAtOnce]) {}
  ~SharedRounds() { ::munmap(rounds_, kBytes); }
  SharedRounds(const SharedRounds&) = delete;
  SharedRounds& operator=(const SharedRounds&) = delete;
  SharedRound& operator[](std::uint32_t index) const { return rounds_[index]; }

 private:
  static constexpr std::size_t kBytes = kRoundsAtOnce * sizeof(SharedRound);
  static void* map() {
    void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    BOOST_REQUIRE(memory != MAP_FAILED);
    return memory;
  }
  SharedRound* rounds_;
};

// ---------------------------------------------------------------- the scenario

struct Buffers {
  std::vector<std::uint8_t> sent = std::vector<std::uint8_t>(kLargeBytes, 7);
  std::vector<std::uint8_t> small = std::vector<std::uint8_t>(kSmallBytes);
  std::vector<std::uint8_t> large = std::vector<std::uint8_t>(kLargeBytes);
  std::vector<std::uint8_t> claimed = std::vector<std::uint8_t>(kSmallBytes);
  std::vector<std::uint8_t> several = std::vector<std::uint8_t>(8 * kSmallBytes);
};

int receive(StruckEnd& end, std::vector<std::uint8_t>& into, std::uint64_t tag) {
  return end.post(TransferKind::kReceive, [&](void* context) {
    return fi_trecv(end.ep, into.data(), into.size(), nullptr, FI_ADDR_UNSPEC, tag, 0, context);
  });
}

int send(StruckEnd& end, const Buffers& buffers, std::size_t bytes, fi_addr_t to, std::uint64_t tag) {
  return end.post(TransferKind::kSend, [&](void* context) {
    return fi_tsend(end.ep, buffers.sent.data(), bytes, nullptr, to, tag, context);
  });
}

void receive_several(StruckEnd& end, std::vector<std::uint8_t>& into) {
  end.post(TransferKind::kMultiReceive, [&](void* context) {
    const iovec piece{into.data(), into.size()};
    fi_msg message{};
    message.msg_iov = &piece;
    message.iov_count = 1;
    message.addr = FI_ADDR_UNSPEC;
    message.context = context;
    return fi_recvmsg(end.ep, &message, FI_MULTI_RECV);
  });
}

// Claims a message that is there, and receives it by the claim. Nothing is there if the send was refused.
int claim(StruckEnd& end, std::vector<std::uint8_t>& into) {
  const iovec piece{into.data(), into.size()};
  fi_msg_tagged message{};
  message.msg_iov = &piece;
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  message.tag = kClaimedTag;
  const auto peek = [&] { return fi_trecvmsg(end.ep, &message, FI_PEEK | FI_CLAIM); };
  int peeked = end.post(TransferKind::kReceive, [&](void* context) {
    message.context = context;
    return peek();
  });
  for (int look = 0; look < kPeekLooks && peeked >= 0; ++look) {
    end.await_all(1);
    if (end.has_succeeded(peeked))
      return end.post_again(peeked, [&] { return fi_trecvmsg(end.ep, &message, FI_CLAIM); });
    end.await_all(1);  // what else arrives; or the time of a look
    peeked = end.post_again(peeked, peek);
  }
  return -1;
}

void check_bytes(const StruckEnd& end, int receive, const std::vector<std::uint8_t>& bytes) {
  const bool is_good = !end.has_succeeded(receive) ||
                       std::all_of(bytes.begin(), bytes.end(), [](auto one) { return one == 7; });
  if (!is_good) violation("the bytes are wrong");
}

void transfer(StruckEnd& left, StruckEnd& right, Buffers& buffers) {
  const fi_addr_t to = left.insert(right);
  if (to == FI_ADDR_NOTAVAIL) return;
  const int small = receive(right, buffers.small, kSmallTag);
  const int large = receive(right, buffers.large, kLargeTag);
  receive_several(right, buffers.several);
  receive(right, buffers.claimed, kNeverTag);
  send(left, buffers, kSmallBytes, to, kSmallTag);
  if (large >= 0) send(left, buffers, kLargeBytes, to, kLargeTag);  // it completes when it is received
  for (int i = 0; i < 2; ++i) {
    left.post(TransferKind::kSend, [&](void* context) {
      return fi_send(left.ep, buffers.sent.data(), kSmallBytes, nullptr, to, context);
    });
  }
  send(left, buffers, kSmallBytes, to, kClaimedTag);
  const int claimed = claim(right, buffers.claimed);
  left.await_all(kStruckLooks);
  right.await_all(1);
  right.cancel_receives();
  right.await_all(kStruckLooks);
  left.await_all(kStruckLooks);
  if (left.open_transfers() > 0) violation("a send has no completion");
  if (right.open_transfers() > 0) violation("a receive has no completion");
  check_bytes(right, small, buffers.small);
  check_bytes(right, large, buffers.large);
  check_bytes(right, claimed, buffers.claimed);
}

void run_scenario() {
  Buffers buffers;
  StruckEnd left, right;
  if (left.open() && right.open()) transfer(left, right, buffers);
  left.close();
  right.close();
}

// After the fault all is as good as new.
void check_that_all_works() {
  Buffers buffers;
  StruckEnd left, right;
  if (!left.open() || !right.open())
    violation("the next endpoints do not open");
  else if (const fi_addr_t to = left.insert(right); to == FI_ADDR_NOTAVAIL)
    violation("the next name is refused");
  else {
    const int received = receive(right, buffers.small, kSmallTag);
    const int sent = send(left, buffers, kSmallBytes, to, kSmallTag);
    left.await_all(kStruckLooks);
    right.await_all(kStruckLooks);
    if (!left.has_succeeded(sent) || !right.has_succeeded(received))
      violation("the next message does not arrive");
  }
  left.close();
  right.close();
}

// Descriptor -> what it leads to.
using Descriptors = std::map<std::string, std::string>;

// Those that are open for longer than a look: a library's thread may close one meanwhile, and the iterator has one itself.
Descriptors open_descriptors() {
  Descriptors open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error);
    if (!error && !target.starts_with("/proc/")) open[entry.path().filename()] = target;
  }
  return open;
}

// "": there are none but those from before.
std::string new_descriptor(const Descriptors& before) {
  for (const auto& [number, target] : open_descriptors()) {
    if (!before.contains(number)) return target;
  }
  return "";
}

// A peer that cannot prove who it is counts as a stranger, and another thread closes the sockets of those (base/destroy_elsewhere.h).
void check_descriptors(const Descriptors& before) {
  constexpr int kLooksMax = 5'000;
  std::string left = new_descriptor(before);
  for (int looks = 0; looks < kLooksMax && !left.empty(); ++looks) {
    ::poll(nullptr, 0, 1);
    left = new_descriptor(before);
  }
  if (!left.empty()) violation("open descriptor: " + left);
}

// ---------------------------------------------------------------- rounds

void run_round(FaultKind kind, std::uint32_t number, SharedRound& round) {
  round_report = &round.report;
  if (kind == FaultKind::kKernelCall) {
    round.plan.fails_at = number;
    follow(&round.plan);
  }
  check_that_all_works();  // what libfabric and the library keep is there from now on
  const Descriptors before = open_descriptors();
  count_allocations({number, kind == FaultKind::kAllocation ? 1U : 0U, 0, 0});
  round.plan.counts = true;
  run_scenario();
  round.plan.counts = false;
  const bool has_allocation_failed = stop_counting_allocations();
  round.report.has_failed =
      kind == FaultKind::kAllocation ? has_allocation_failed : round.plan.failed != nullptr;
  check_descriptors(before);
  check_that_all_works();
}

pid_t begin_round(FaultKind kind, std::uint32_t number, SharedRound& round) {
  new (&round) SharedRound;
  std::cout.flush();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Some of libfabric's libraries make an exit of a crash.
  for (const int fatal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTERM}) ::signal(fatal, SIG_DFL);
  run_round(kind, number, round);
  std::exit(0);
}

// A signal would not do: threads that wait hold it back.
bool ends_in_time(pid_t pid) {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  pollfd asked{descriptor, POLLIN, 0};
  const bool ended = ::poll(&asked, 1, kRoundLimitMs) == 1;
  ::close(descriptor);
  return ended;
}

// Returns what went wrong; empty: nothing.
std::string end_round(pid_t pid, const SharedRound& round) {
  const bool hangs = !ends_in_time(pid);
  if (hangs) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) != pid) continue;
  if (hangs) return "a hang";
  if (round.report.violation[0] != '\0') return round.report.violation;
  if (WIFSIGNALED(status)) return ::strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(status));
}

std::string fault_name(const SharedRound& round) {
  const char* const call = round.plan.failed;
  return call == nullptr ? "" : std::string(", ") + call;
}

// Runs some rounds at the same moment. Returns whether one of them had a fault.
bool run_rounds(const SharedRounds& rounds, FaultKind kind, std::uint32_t first) {
  pid_t pids[kRoundsAtOnce];
  for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i) pids[i] = begin_round(kind, first + i, rounds[i]);
  bool some_failed = false;
  for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i) {
    const std::string wrong = end_round(pids[i], rounds[i]);
    if (!wrong.empty()) BOOST_ERROR("fault " << first + i << fault_name(rounds[i]) << ": " << wrong);
    some_failed = some_failed || rounds[i].report.has_failed || !wrong.empty();
  }
  return some_failed;
}

// Loading all of libfabric's libraries takes longer than a round.
void load_libfabric() {
  fi_info* const hints = fi_allocinfo();
  fi_info* found = nullptr;
  hints->fabric_attr->prov_name = ::strdup("exs");
  BOOST_REQUIRE_EQUAL(fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &found), 0);
  fi_freeinfo(found);
  fi_freeinfo(hints);
}

// The value of an option of the command, as in `test-fabric-faults -- --first 96 --last 103`.
std::uint32_t option(const std::string& name, std::uint32_t otherwise) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; i += 2) {
    if (name == suite.argv[i])
      return static_cast<std::uint32_t>(std::strtoul(suite.argv[i + 1], nullptr, 10));
  }
  return otherwise;
}

void fail_each(FaultKind kind) {
  load_libfabric();
  const SharedRounds rounds;
  const std::uint32_t last = option("--last", kFaultsMax);
  std::uint32_t first = option("--first", 0);
  while (first < last && run_rounds(rounds, kind, first)) first += kRoundsAtOnce;
  BOOST_TEST_MESSAGE("some " << first << " faults, one after the other");
  BOOST_TEST(first > 0);  // else nothing was tested
  BOOST_TEST(first < kFaultsMax);
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_kernel_call_may_fail) {
  fail_each(FaultKind::kKernelCall);
}

BOOST_AUTO_TEST_CASE(each_allocation_may_fail) {
  fail_each(FaultKind::kAllocation);
}

}  // namespace exs::test
