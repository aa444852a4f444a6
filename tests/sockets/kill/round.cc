// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/kill/round.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string>

#include "tests/sockets/kill/actor.h"
#include "tests/sockets/kill/left_behind.h"
#include "tests/sockets/twin/stream.h"

namespace killing {
namespace {

constexpr int kAnswerMs = 3000;
constexpr std::uint32_t kSurvivors = 60;  // bytes that the survivor sends after the victim's death
constexpr std::uint32_t kChilds = 50;
constexpr std::uint32_t kWhileStopped = 30;

// Thrown if a round cannot go on; `report.fault` has the cause.
struct Over {};

std::size_t index_of(Who who) {
  return static_cast<std::size_t>(who);
}

class Round {
 public:
  Round(const Request& request, Report& report)
      : request_(request), script_(scripts()[request.script]), report_(report), notes_(map_notes()) {
    for (std::size_t i = 0; i < kActors; ++i)
      std::memset(static_cast<void*>(notes_ + i), 0, offsetof(Notes, bytes));
  }
  ~Round() { end_processes(); }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  void play() {
    start();
    for (const Cue& cue : script_.before) prepare(cue);
    if (request_.what == What::kFindChanges) return find_changes();
    if (request_.attitude == Attitude::kSleeps) put_to_sleep();
    run_victim();
    kill_victim();
    if (script_.has_child) use_child();
    end_children();
    examine();
    check_bytes();
    check_leftovers();
  }

 private:
  // --- processes ---
  void start() {
    std::array<std::array<int, 2>, kActors> pairs = {};
    for (auto& pair : pairs) socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data());
    for (const Who who : {Who::kVictim, Who::kSurvivor}) {
      const pid_t pid = fork();
      if (pid == 0) {
        dup2(pairs[index_of(who)][1], kControl);
        if (who == Who::kVictim) dup2(pairs[index_of(Who::kChild)][1], kChildControl);
        for (const auto& pair : pairs)
          for (const int end : pair) close(end);
        close(kRequests);
        act(who);
      }
      pids_[index_of(who)] = pid;
    }
    for (std::size_t i = 0; i < kActors; ++i) {
      channels_[i] = pairs[i][0];
      close(pairs[i][1]);
    }
    tracer_.emplace(pids_[index_of(Who::kVictim)]);
  }
  void end_processes() {
    for (int& channel : channels_)
      if (channel >= 0) close(channel);
    for (const pid_t pid : pids_)
      if (pid > 0) kill(pid, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }
  void kill_victim() {
    report_.phase = notes_of(Who::kVictim).phase.load();
    pid_t& pid = pids_[index_of(Who::kVictim)];
    kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) == pid && !WIFEXITED(status) && !WIFSIGNALED(status)) {
    }
    pid = -1;
  }
  // Waits for all forks of the victim to end. The survivor stays.
  void end_children() {
    int& channel = channels_[index_of(Who::kChild)];
    close(channel);
    channel = -1;
    if (!script_.has_child && script_.step.front().op != Op::kFork) return;
    for (;;) {
      siginfo_t ended = {};
      if (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT | WNOHANG) != 0) break;
      if (ended.si_pid == pids_[index_of(Who::kSurvivor)]) fail("the survivor has ended");
      if (ended.si_pid != 0) waitpid(ended.si_pid, nullptr, 0);
      if (!has_child_process()) break;
      if (ended.si_pid == 0) poll(nullptr, 0, 1);
    }
  }
  // A child other than the survivor is left.
  [[nodiscard]] bool has_child_process() const {
    std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
    pid_t pid = 0;
    while (children >> pid)
      if (pid != pids_[index_of(Who::kSurvivor)]) return true;
    return false;
  }

  // --- calls ---
  [[noreturn]] void fail(const std::string& fault) {
    std::snprintf(report_.fault, sizeof report_.fault, "%s", fault.c_str());
    throw Over{};
  }
  Notes& notes_of(Who who) { return notes_[index_of(who)]; }
  void tell(Who who, Op op, std::uint32_t bytes = 0) {
    Command command = {};
    command.op = op;
    command.bytes = bytes;
    command.script = request_.script;
    command.port = notes_of(who == Who::kVictim ? Who::kSurvivor : Who::kVictim).port.load();
    static_cast<void>(send(channels_[index_of(who)], &command, sizeof command, MSG_NOSIGNAL));
  }
  Answer answer_of(Who who, const char* what) {
    Answer answer = {};
    pollfd readable = {channels_[index_of(who)], POLLIN, 0};
    if (poll(&readable, 1, kAnswerMs) != 1)
      fail(std::string(who == Who::kChild ? "the child" : "the survivor") + " hangs in " + what + ", after " +
           report_.seen);
    if (recv(channels_[index_of(who)], &answer, sizeof answer, MSG_WAITALL) !=
        static_cast<ssize_t>(sizeof answer))
      fail(std::string("no answer to ") + what);
    return answer;
  }
  Answer call(Who who, Op op, std::uint32_t bytes, const char* what) {
    tell(who, op, bytes);
    return answer_of(who, what);
  }
  void prepare(const Cue& cue) {
    const Answer answer = call(cue.who, cue.op, cue.bytes, "its preparation");
    const bool moves = cue.op == Op::kSend || cue.op == Op::kReceive;
    if (answer.result < 0 || (moves && answer.result != cue.bytes))
      fail("a call before the step has failed: " + std::string(std::strerror(answer.error)));
    if (cue.op == Op::kFork) pids_[index_of(Who::kChild)] = answer.pid;
  }
  void note(const char* what, const Answer& answer) {
    std::string words = std::string(" ") + what + "=";
    words += answer.result < 0 ? strerrorname_np(answer.error) : std::to_string(answer.result);
    if (answer.signals > 0) words += "!";
    if (answer.events != 0) words += "/" + std::to_string(answer.events);
    std::strncat(report_.seen, words.c_str(), sizeof report_.seen - std::strlen(report_.seen) - 1);
  }
  Answer see(Who who, const char* what, Op op, std::uint32_t bytes = 0) {
    const Answer answer = call(who, op, bytes, what);
    note(what, answer);
    return answer;
  }

  // --- the victim ---
  void find_changes() {
    tell(Who::kVictim, Op::kStep);
    if (!tracer_->await_step()) fail("the step does not begin");
    const std::vector<Place> places = tracer_->find_changes(script_.has_child, report_.instructions);
    report_.places = static_cast<std::uint32_t>(std::min(places.size(), kPlacesMax));
    std::copy_n(places.begin(), report_.places, report_.at);
  }
  void run_victim() {
    tell(Who::kVictim, Op::kStep);
    if (!tracer_->await_step()) fail("the step does not begin");
    report_.goes_on = tracer_->run_to(request_.place);
    if (request_.what != What::kStop) return;
    see(Who::kSurvivor, "meanwhile", Op::kTryReceive);
    see(Who::kSurvivor, "send", Op::kSend, kWhileStopped);
    if (script_.watches) see(Who::kSurvivor, "sleep", Op::kSleepInSet);
    if (report_.goes_on) tracer_->run_to_end();
    if (script_.watches) see(Who::kSurvivor, "set-lies", Op::kTrustSet);
  }

  // --- the survivor ---
  void put_to_sleep() {
    tell(Who::kSurvivor, Op::kDrain);
    constexpr int kTries = 1000;
    const std::string path = "/proc/" + std::to_string(pids_[index_of(Who::kSurvivor)]) + "/stat";
    for (int i = 0; i < kTries; ++i) {
      std::ifstream stat(path);
      std::string word;
      stat >> word >> word >> word;
      if (word == "S" &&
          notes_of(Who::kSurvivor).to_receive.load() > notes_of(Who::kSurvivor).received.load())
        return;
      poll(nullptr, 0, 1);
    }
    fail("the survivor does not sleep");
  }
  void use_child() {
    const auto child_sends = [&] { see(Who::kChild, "child-send", Op::kSend, kChilds); };
    if (request_.attitude == Attitude::kWrites) child_sends();
    if (request_.attitude != Attitude::kSleeps) see(Who::kSurvivor, "send", Op::kSend, kSurvivors);
    sent_before_child_ = notes_of(Who::kSurvivor).sent.load();
    see(Who::kChild, "child-receive", Op::kTryReceive);
    if (request_.attitude != Attitude::kWrites) child_sends();
    await_child();
    see(Who::kChild, "child-close", Op::kClose);
  }
  // The child's bytes must wake a sleeping survivor.
  void await_child() {
    const Notes& survivor = notes_of(Who::kSurvivor);
    const std::uint64_t least = notes_of(Who::kVictim).sent.load() + kChilds;
    for (int i = 0; request_.attitude == Attitude::kSleeps && survivor.received.load() < least; ++i) {
      if (i == kAnswerMs) fail(std::string("the survivor sleeps on, with bytes for it;") + report_.seen);
      poll(nullptr, 0, 1);
    }
    if (request_.attitude == Attitude::kReads) see(Who::kSurvivor, "poll", Op::kPoll);
  }
  void examine() {
    if (request_.attitude == Attitude::kSleeps) {
      note("drain", answer_of(Who::kSurvivor, "a receive that it slept in"));
    } else {
      call(Who::kSurvivor, Op::kSettle, 0, "its wait for the end");
    }
    if (request_.attitude == Attitude::kReads) {
      see(Who::kSurvivor, "poll", Op::kPoll);
      see(Who::kSurvivor, "drain", Op::kDrain);
    }
    if (request_.attitude != Attitude::kWrites) see(Who::kSurvivor, "again", Op::kDrain);
    for (int i = 0; i < 3; ++i) {
      const Answer sent = see(Who::kSurvivor, "send", Op::kSend, 1);
      if (sent.result > 0) see(Who::kSurvivor, "hang-up", Op::kAwaitHangUp);
    }
    if (request_.attitude == Attitude::kWrites) {
      see(Who::kSurvivor, "drain", Op::kDrain);
      see(Who::kSurvivor, "again", Op::kDrain);
    }
    see(Who::kSurvivor, "poll", Op::kPoll);
  }

  // --- what must hold in any case ---
  static bool is_of(const Notes& notes, std::uint64_t at, std::uint64_t count, Who whose,
                    std::uint64_t position) {
    return twin::first_wrong(std::span(notes.bytes + at, count), static_cast<std::uint64_t>(whose),
                             position) < 0;
  }
  void check_bytes() {
    const Notes& victim = notes_of(Who::kVictim);
    const Notes& survivor = notes_of(Who::kSurvivor);
    const Notes& child = notes_of(Who::kChild);
    const std::uint64_t of_child = child.sent.load();
    const std::uint64_t of_victim = survivor.received.load() - of_child;
    const auto told = [&](const char* what) {
      return std::string(what) + ": " + std::to_string(survivor.received.load()) + " came of " +
             std::to_string(victim.sent.load()) + " to " + std::to_string(victim.to_send.load()) +
             (of_child > 0 ? " and the child's " + std::to_string(of_child) : std::string()) + ";" +
             report_.seen;
    };
    if (survivor.received.load() < of_child || of_victim < victim.sent.load()) fail(told("bytes are lost"));
    if (of_victim > victim.to_send.load()) fail(told("bytes come that were not sent"));
    if (!is_of(survivor, 0, of_victim, Who::kVictim, 0) ||
        !is_of(survivor, of_victim, of_child, Who::kChild, 0))
      fail(told("other bytes come than were sent"));
    if (!is_of(victim, 0, victim.received.load(), Who::kSurvivor, 0))
      fail("the victim received other bytes than were sent");
    if (script_.has_child) check_child();
  }
  // The child continues where the victim may have stopped, and misses nothing from there on.
  void check_child() {
    const Notes& victim = notes_of(Who::kVictim);
    const Notes& child = notes_of(Who::kChild);
    const std::uint64_t sent = sent_before_child_;
    const std::uint64_t first = sent - child.received.load();
    if (first < victim.received.load() || first > victim.to_receive.load() ||
        !is_of(child, 0, child.received.load(), Who::kSurvivor, first))
      fail("the child received " + std::to_string(child.received.load()) + " of " + std::to_string(sent) +
           " bytes, of which the victim had " + std::to_string(victim.received.load()) + " to " +
           std::to_string(victim.to_receive.load()) + ";" + report_.seen);
  }
  void check_leftovers() {
    call(Who::kSurvivor, Op::kClose, 0, "its close");
    call(Who::kSurvivor, Op::kEnd, 0, "its end");
    if (const std::string kept = kept_by(pids_[index_of(Who::kSurvivor)]); !kept.empty())
      fail("the survivor keeps " + kept);
    int& channel = channels_[index_of(Who::kSurvivor)];
    close(channel);
    channel = -1;
    waitpid(pids_[index_of(Who::kSurvivor)], nullptr, 0);
    pids_[index_of(Who::kSurvivor)] = -1;
    const std::string name =
        bound_name(notes_of(Who::kVictim).port.load(), notes_of(Who::kSurvivor).port.load());
    if (!name.empty()) fail("a name is still bound: " + name);
    if (waitpid(-1, nullptr, WNOHANG) >= 0) fail("a process is left");
  }

  const Request& request_;
  const Script& script_;
  Report& report_;
  Notes* notes_;
  std::array<int, kActors> channels_ = {-1, -1, -1};
  std::array<pid_t, kActors> pids_ = {-1, -1, -1};
  std::optional<Tracer> tracer_;
  std::uint64_t sent_before_child_ = 0;
};

}  // namespace

void play(const Request& request, Report& report) {
  try {
    Round(request, report).play();
  } catch (const Over&) {
  }
}

}  // namespace killing
