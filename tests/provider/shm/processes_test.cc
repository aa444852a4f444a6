// Channels between processes: one that is confined, one of another user, one that is killed.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>

#include "tests/provider/shm/halves.h"
#include "tests/provider/shm/raw_end.h"
#include "tests/support/child_process.h"
#include "tests/support/confinement.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;

namespace processes_test {

// What fails in it must not come back into the test's own code.
class Child : public exs::test::Child {
 public:
  template <typename Body>
  explicit Child(Body body)
      : exs::test::Child([&] {
          try {
            body();
          } catch (const std::exception& failure) {
            std::fprintf(stderr, "in the child: %s\n", failure.what());
          }
          ::_exit(1);
        }) {}
};

constexpr std::uint64_t kToken = 7;
using Words = std::array<std::byte, Invitation::kBytes>;

// What a process tells of its request, or of its invitation.
struct Outcome {
  bool met = false;
  ReasonCode why_not{};
  bool reads_memory = false;
  ReasonCode why_no_memory{};
  std::size_t descriptors = 0;  // that the initiator has for the channel
  bool able = true;             // false: what the test wants needs rights that this process has not
};

// One way, fixed sizes; made before the fork.
class Line {
 public:
  Line() { require(::pipe2(ends_, O_CLOEXEC) == 0, "pipe2"); }
  ~Line() {
    for (const int end : ends_) ::close(end);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  template <typename Value>
  void send(const Value& value) const {
    if (::write(ends_[1], &value, sizeof value) != sizeof value) std::abort();
  }
  template <typename Value>
  [[nodiscard]] Value receive() const {
    Value value{};
    if (::read(ends_[0], &value, sizeof value) != sizeof value) std::abort();
    return value;
  }
  [[nodiscard]] bool has_something(int limit_ms = 0) const {
    pollfd wait{ends_[0], POLLIN, 0};
    return ::poll(&wait, 1, limit_ms) > 0;
  }
  [[nodiscard]] int descriptor() const { return ends_[0]; }

 private:
  int ends_[2];
};

struct Lines {
  Line words, outcome, go_on;
};

Words words_of(const ShmUpgrade& pending) {
  Words words;
  std::copy(pending.invitation().begin(), pending.invitation().end(), words.begin());
  return words;
}

// Turns until the line has something.
void drive_until_received(Half& half, const Line& line) {
  while (!line.has_something()) {
    half.turn();
    pollfd waits[] = {{half.poller.descriptor(), POLLIN, 0}, {line.descriptor(), POLLIN, 0}};
    const bool due = half.directory.next_deadline_ns() <= half.now_ns;
    if (!due) require(::poll(waits, 2, kWaitLimitMs) > 0, "nothing happened for a long time");
  }
}

Outcome outcome_of(ShmUpgrade& upgrade) {
  const auto slot = upgrade.take_slot();
  if (!slot) return {.met = false, .why_not = upgrade.why_not().code};
  const Channel& channel = slot->channel();
  return {.met = true, .reads_memory = channel.reads_memory(), .why_no_memory = channel.why_not().code};
}

using Confine = std::function<bool()>;
bool not_at_all() {
  return true;
}

// The child's part as the responder, until it is killed.
void join_from(const Lines& lines, const Settings& settings, const Confine& confine) {
  Outcome outcome;
  Half half(settings);
  if (confine()) {
    const Words words = lines.words.receive<Words>();
    const auto request = half.join(words, kToken);
    Half* halves[] = {&half};
    await(halves, half, kToken);
    outcome = outcome_of(*request);
  } else {
    outcome.able = false;
  }
  lines.outcome.send(outcome);
  ::pause();
}

// As the initiator. What it tells at the end is of the place that it got, once it is told to look.
void invite_from(const Lines& lines, const Settings& settings, const Confine& confine) {
  Half half(settings);
  const auto pending = half.invite();
  // The sanitizer's first check of such a virtual call takes a descriptor, and later none may be left.
  [[maybe_unused]] const ReasonCode none_yet = static_cast<ShmUpgrade&>(*pending).why_not().code;
  const bool able = confine();
  lines.outcome.send(able);
  if (able) {
    lines.words.send(words_of(*pending));
    drive_until_received(half, lines.go_on);
    lines.outcome.send(outcome_of(*pending));
  }
  ::pause();
}

// A child that requests this process.
Outcome child_joins(Half& half, const Confine& confine, const Settings& settings = {}) {
  const Lines lines;
  const Child child([&] { join_from(lines, settings, confine); });
  const auto pending = half.invite();
  const std::size_t before = open_descriptors();
  lines.words.send(words_of(*pending));
  drive_until_received(half, lines.outcome);
  Outcome outcome = lines.outcome.receive<Outcome>();
  outcome.descriptors = open_descriptors() - before;
  BOOST_TEST(pending->take_slot().has_value() == outcome.met);
  return outcome;
}

// A child that this process requests. First the own outcome, then the child's.
std::pair<Outcome, Outcome> join_child(Half& half, const Confine& confine, const Settings& settings = {}) {
  const Lines lines;
  const Child child([&] { invite_from(lines, settings, confine); });
  if (!lines.outcome.receive<bool>()) return {{.able = false}, {.able = false}};
  const auto request = half.join(lines.words.receive<Words>(), kToken);
  Half* halves[] = {&half};
  await(halves, half, kToken);
  const Outcome ours = outcome_of(*request);
  lines.go_on.send('x');
  return {ours, lines.outcome.receive<Outcome>()};
}

#define SKIP_UNLESS(able)                                         \
  if (!(able)) {                                                  \
    BOOST_TEST_MESSAGE("skipped: this process lacks the rights"); \
    return;                                                       \
  }

Confine denying(std::initializer_list<long> calls) {
  const std::vector<long> numbers(calls);
  return [numbers] {
    bool done = true;
    for (const long number : numbers) done = done && exs::test::deny_system_calls({number}, EPERM);
    return done;
  };
}

Settings any_user() {
  Settings settings;
  settings.users.any = true;
  return settings;
}

// Ends what a child that is gone has left.
void settle(Half& half) {
  for (int i = 0; i < 8; ++i) half.turn();
}

}  // namespace processes_test

BOOST_AUTO_TEST_SUITE(processes_test)

BOOST_AUTO_TEST_SUITE(two_processes)

BOOST_AUTO_TEST_CASE(meet) {
  Half half;
  const Outcome theirs = child_joins(half, not_at_all);
  BOOST_TEST(theirs.met);
  BOOST_TEST(theirs.descriptors == 4U);  // socket, process, and a doorbell each way
  const auto [ours, childs] = join_child(half, not_at_all);
  BOOST_TEST(ours.met);
  BOOST_TEST(childs.met);
}

BOOST_AUTO_TEST_CASE(leave_nothing_behind) {
  Half half;
  half.invite();
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 5; ++i) BOOST_TEST(child_joins(half, not_at_all).met);
  settle(half);
  BOOST_TEST(half.directory.channels().empty());
  BOOST_TEST(open_descriptors() == before);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(confined)

BOOST_AUTO_TEST_CASE(without_memfds) {
  Half half;
  BOOST_TEST(child_joins(half, denying({SYS_memfd_create})).why_not == ReasonCode::kNoMemfd);
  BOOST_TEST(join_child(half, denying({SYS_memfd_create})).first.why_not == ReasonCode::kNoMemfd);
}

BOOST_AUTO_TEST_CASE(without_process_vm) {
  Half half;
  for (const long call : {SYS_process_vm_readv, SYS_process_vm_writev}) {
    const Outcome theirs = child_joins(half, denying({call}));
    BOOST_TEST(theirs.met);
    BOOST_TEST(!theirs.reads_memory);
    BOOST_TEST(theirs.why_no_memory == ReasonCode::kNoPtrace);
    const auto [ours, childs] = join_child(half, denying({call}));
    BOOST_TEST(ours.met);
    BOOST_TEST(!childs.reads_memory);
    BOOST_TEST(childs.why_no_memory == ReasonCode::kNoPtrace);
  }
}

BOOST_AUTO_TEST_CASE(without_unix_sockets) {
  Half half;
  const auto no_unix_sockets = [] { return exs::test::deny_system_calls({SYS_socket}, EPERM, AF_UNIX); };
  BOOST_TEST(child_joins(half, no_unix_sockets).why_not == ReasonCode::kNoUnixSocket);
}

// Whatever is lacking, at whichever step: a reason, and no descriptor lost.
BOOST_AUTO_TEST_CASE(without_enough_descriptors) {
  Half half;
  half.invite();
  const std::size_t before = open_descriptors();
  int met = 0;
  for (rlim_t left = 0; left < 12; ++left) {
    const auto leaving = [left] { return exs::test::lower_limit(RLIMIT_NOFILE, open_descriptors() + left); };
    BOOST_TEST_CONTEXT("with " << left << " left") {
      const Outcome theirs = child_joins(half, leaving);
      BOOST_TEST((theirs.met || theirs.why_not == ReasonCode::kNoDescriptors));
      const auto [ours, childs] = join_child(half, leaving);
      BOOST_TEST((ours.met || ours.why_not == ReasonCode::kNoDescriptors));
      BOOST_TEST(ours.met == childs.met);
      met += (theirs.met ? 1 : 0) + (ours.met ? 1 : 0);
      settle(half);
      BOOST_TEST(open_descriptors() == before);
    }
  }
  BOOST_TEST(met > 0);
  BOOST_TEST(met < 24);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(elsewhere)

constexpr uid_t kOtherUser = 12345;
bool as_other_user() {
  return exs::test::become_user(kOtherUser);
}

BOOST_AUTO_TEST_CASE(another_user_is_refused) {
  Half half;
  Outcome theirs = child_joins(half, as_other_user);
  SKIP_UNLESS(theirs.able);
  BOOST_TEST(theirs.why_not == ReasonCode::kOtherUser);
  // The initiator refuses although the responder would have it.
  theirs = child_joins(half, as_other_user, any_user());
  BOOST_TEST(theirs.why_not == ReasonCode::kOtherUser);
}

BOOST_AUTO_TEST_CASE(another_user_that_is_allowed) {
  Half half(any_user());
  const Outcome theirs = child_joins(half, as_other_user, any_user());
  SKIP_UNLESS(theirs.able);
  BOOST_TEST(theirs.met);
  BOOST_TEST(!theirs.reads_memory);
  BOOST_TEST(theirs.why_no_memory == ReasonCode::kNoPtrace);
  BOOST_TEST(theirs.descriptors == 3U);  // the peer's doorbell is not kept: it could be made to block
}

BOOST_AUTO_TEST_CASE(another_network_namespace) {
  Half half;
  const auto elsewhere = [] { return exs::test::enter_new_namespace(CLONE_NEWNET); };
  const Outcome theirs = child_joins(half, elsewhere);
  SKIP_UNLESS(theirs.able);
  BOOST_TEST(theirs.why_not == ReasonCode::kOtherNetns);
}

// The first process of a new PID namespace cannot name those outside.
BOOST_AUTO_TEST_CASE(another_pid_namespace) {
  Half half;
  const Lines lines;
  const Child parent([&] {
    if (!exs::test::enter_new_namespace(CLONE_NEWPID)) {
      lines.outcome.send(Outcome{.able = false});
      ::pause();
    }
    const pid_t inner = ::fork();
    if (inner == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      join_from(lines, {}, not_at_all);
    }
    ::pause();
  });
  const auto pending = half.invite();
  lines.words.send(words_of(*pending));
  drive_until_received(half, lines.outcome);
  const Outcome theirs = lines.outcome.receive<Outcome>();
  SKIP_UNLESS(theirs.able);
  BOOST_TEST(theirs.met);
  BOOST_TEST(!theirs.reads_memory);
  BOOST_TEST(theirs.why_no_memory == ReasonCode::kOtherPidns);
  const auto slot = pending->take_slot();
  BOOST_REQUIRE(slot.has_value());
  BOOST_TEST(slot->channel().peer_pid() != 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(killed)

// Goes so many turns, tells, and waits to be killed.
void turn_and_wait(Half& half, const Lines& lines, int turns) {
  for (int i = 0; i < turns; ++i) {
    half.turn();
    lines.go_on.send(i);
    [[maybe_unused]] const int turned = lines.outcome.receive<int>();
  }
  lines.go_on.send(-1);
  ::pause();
}

// Until the child waits to be killed.
void turn_with(Half& half, const Lines& lines) {
  while (lines.go_on.receive<int>() >= 0) {
    half.turn();
    lines.outcome.send(0);
  }
}

constexpr int kStepsMax = 8;

BOOST_AUTO_TEST_CASE(at_any_step_while_it_visits) {
  Half half;
  half.invite();
  const std::size_t before = open_descriptors();
  int came_to_meet = 0;
  for (int steps = 0; steps < kStepsMax; ++steps) {
    BOOST_TEST_CONTEXT(steps << " steps") {
      std::unique_ptr<ShmUpgrade> pending;
      {
        const Lines lines;
        Child child([&] {
          Half visitor;
          const auto request = visitor.join(lines.words.receive<Words>(), kToken);
          turn_and_wait(visitor, lines, steps);
        });
        pending = half.invite();
        lines.words.send(words_of(*pending));
        turn_with(half, lines);
        child.kill();
      }
      settle(half);
      const auto slot = pending->take_slot();
      BOOST_TEST(!slot.has_value());
      came_to_meet += slot.error() == Status(ECONNRESET) ? 1 : 0;
      pending.reset();
      settle(half);
      BOOST_TEST(half.directory.channels().empty());
      BOOST_TEST(open_descriptors() == before);
    }
  }
  BOOST_TEST(came_to_meet > 0);
  BOOST_TEST(came_to_meet < kStepsMax);
  BOOST_TEST(child_joins(half, not_at_all).met);
}

BOOST_AUTO_TEST_CASE(at_any_step_while_it_is_visited) {
  Half half;
  const std::size_t before = open_descriptors();
  int came_to_meet = 0;
  for (int steps = 0; steps < kStepsMax; ++steps) {
    BOOST_TEST_CONTEXT(steps << " steps") {
      {
        const Lines lines;
        Child child([&] {
          Half host;
          const auto pending = host.invite();
          lines.words.send(words_of(*pending));
          turn_and_wait(host, lines, steps);
        });
        const auto request = half.join(lines.words.receive<Words>(), kToken);
        turn_with(half, lines);
        child.kill();
        settle(half);
        // Its outcome comes without any time passing.
        const auto outcome = half.take(kToken);
        BOOST_REQUIRE(outcome.has_value());
        came_to_meet += outcome->status.ok() ? 1 : 0;
        if (!outcome->status.ok()) BOOST_TEST(request->why_not().code == ReasonCode::kFailed);
        BOOST_TEST(!request->take_slot().has_value());
      }
      settle(half);
      BOOST_TEST(half.directory.channels().empty());
      BOOST_TEST(open_descriptors() == before);
    }
  }
  BOOST_TEST(came_to_meet > 0);
  BOOST_TEST(came_to_meet < kStepsMax);
}

BOOST_AUTO_TEST_CASE(while_a_child_of_its_own_still_holds_the_socket) {
  Half half;
  const Lines lines;
  const Line grandchild;
  Child child([&] {
    Half visitor;
    const auto request = visitor.join(lines.words.receive<Words>(), kToken);
    Half* halves[] = {&visitor};
    await(halves, visitor, kToken);
    const pid_t heir = ::fork();
    if (heir == 0) ::pause();
    grandchild.send(heir);
    ::pause();
  });
  const auto pending = half.invite();
  lines.words.send(words_of(*pending));
  drive_until_received(half, grandchild);
  const pid_t heir = grandchild.receive<pid_t>();
  const auto slot = pending->take_slot();
  BOOST_REQUIRE(slot.has_value());
  settle(half);
  BOOST_TEST(slot->channel().peer_process_lives());
  BOOST_TEST(!slot->channel().peer_is_gone());
  child.kill();
  BOOST_TEST(!slot->channel().peer_process_lives());
  BOOST_TEST(slot->channel().peer_is_gone());
  settle(half);
  BOOST_TEST((slot->channel().status() == Status(ECONNRESET)));
  ::kill(heir, SIGKILL);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
