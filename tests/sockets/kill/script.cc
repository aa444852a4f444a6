// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/kill/script.h"

#include <algorithm>

namespace killing {
namespace {

constexpr std::uint32_t kFew = 10;
constexpr std::uint32_t kSome = 100;
constexpr std::uint32_t kHalf = 50;
constexpr std::uint32_t kMany = 10000;  // more than a ring, and less than TCP takes beside it

using Cues = std::vector<Cue>;

Cues operator+(Cues first, const Cues& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

struct Ends {
  Who caller;
  Who called;
};
constexpr Ends kRoles[] = {{Who::kVictim, Who::kSurvivor}, {Who::kSurvivor, Who::kVictim}};

Cues connected(const Ends& ends) {
  return {{ends.called, Op::kListen}, {ends.caller, Op::kConnect}, {ends.called, Op::kAccept}};
}
// The calls during which the ends meet and begin to use their rings.
Cues meeting(const Ends& ends) {
  return {{ends.caller, Op::kSend, kFew}, {ends.called, Op::kReceive, kFew},
          {ends.called, Op::kSend, kFew}, {ends.caller, Op::kReceive, kFew},
          {ends.caller, Op::kSend, kFew}, {ends.called, Op::kReceive, kFew},
          {ends.called, Op::kSend, kFew}, {ends.caller, Op::kReceive, kFew}};
}

Cue victim(Op op, std::uint32_t bytes = 0) {
  return {Who::kVictim, op, bytes};
}
Cue survivor(Op op, std::uint32_t bytes = 0) {
  return {Who::kSurvivor, op, bytes};
}

struct Part {
  const char* name;
  Cues before;
  Cues step;
};

std::vector<Part> transfers() {
  return {
      {"put", {}, {victim(Op::kSend, kSome)}},
      {"put-behind", {victim(Op::kSend, kSome)}, {victim(Op::kSend, kSome)}},
      {"overflow", {}, {victim(Op::kSend, kMany)}},
      {"put-by-tcp", {victim(Op::kSend, kMany)}, {victim(Op::kSend, kHalf)}},
      {"reopen", {victim(Op::kSend, kMany), survivor(Op::kReceive, kMany)}, {victim(Op::kSend, kSome)}},
      {"receive", {survivor(Op::kSend, kSome)}, {victim(Op::kReceive, kSome)}},
      {"receive-part", {survivor(Op::kSend, kSome)}, {victim(Op::kReceive, kHalf)}},
      {"receive-turn", {survivor(Op::kSend, kMany)}, {victim(Op::kReceive, kMany)}},
      {"receive-reopened",
       {survivor(Op::kSend, kMany), victim(Op::kReceive, kMany), survivor(Op::kSend, kSome)},
       {victim(Op::kReceive, kSome)}},
      {"echo", {survivor(Op::kSend, kSome)}, {victim(Op::kReceive, kSome), victim(Op::kSend, kSome)}},
  };
}

std::vector<Part> ways_out() {
  return {
      {"give-up", {}, {victim(Op::kGiveUpRing)}},
      {"give-up-sent", {victim(Op::kSend, kSome)}, {victim(Op::kGiveUpRing), victim(Op::kSend, kHalf)}},
      {"give-up-unread",
       {survivor(Op::kSend, kSome)},
       {victim(Op::kGiveUpRing), victim(Op::kReceive, kSome)}},
      {"give-up-overflowed",
       {survivor(Op::kSend, kMany)},
       {victim(Op::kGiveUpRing), victim(Op::kReceive, kMany)}},
      {"shutdown", {victim(Op::kSend, kSome)}, {victim(Op::kShutdown)}},
      {"shutdown-unread", {survivor(Op::kSend, kSome)}, {victim(Op::kShutdown), victim(Op::kReceive, kSome)}},
  };
}

// One end has no room for the unread bytes, so the other end takes them back.
std::vector<Part> takings_back() {
  return {
      {"take-back",
       {survivor(Op::kLimitFiles), victim(Op::kSend, kSome), survivor(Op::kGiveUpRing)},
       {victim(Op::kSend, kHalf)}},
      {"leave-unread", {victim(Op::kLimitFiles), survivor(Op::kSend, kSome)}, {victim(Op::kGiveUpRing)}},
  };
}

// The victim looks into the ring, so the survivor rings no bells.
std::vector<Part> lookings() {
  const Cues looking = {victim(Op::kWatch), survivor(Op::kSend, kSome), victim(Op::kReceive, kSome)};
  const Cues unread = looking + Cues{survivor(Op::kSend, kSome)};
  return {
      {"look", looking, {victim(Op::kAskSet)}},
      {"look-receive", unread, {victim(Op::kAskSet), victim(Op::kReceive, kSome)}},
      {"look-receive-part", unread, {victim(Op::kReceive, kHalf)}},
      {"look-put", unread, {victim(Op::kSend, kSome)}},
      {"look-give-up", unread, {victim(Op::kGiveUpRing), victim(Op::kReceive, kSome)}},
      {"look-close", unread, {victim(Op::kClose)}},
      {"look-exit", unread, {victim(Op::kExit)}},
      {"put-to-watcher", {survivor(Op::kWatch)}, {victim(Op::kSend, kSome)}},
      {"put-to-looker",
       {survivor(Op::kWatch), victim(Op::kSend, kSome), survivor(Op::kReceive, kSome)},
       {victim(Op::kSend, kSome)}},
  };
}

std::vector<Part> endings() {
  return {
      {"close", {}, {victim(Op::kClose)}},
      {"close-sent", {victim(Op::kSend, kSome)}, {victim(Op::kClose)}},
      {"close-overflowed", {victim(Op::kSend, kMany)}, {victim(Op::kClose)}},
      {"close-unread", {survivor(Op::kSend, kSome)}, {victim(Op::kClose)}},
      {"exit", {}, {victim(Op::kExit)}},
      {"exit-sent", {victim(Op::kSend, kSome)}, {victim(Op::kExit)}},
      {"exit-unread", {survivor(Op::kSend, kSome)}, {victim(Op::kExit)}},
      {"fork", {}, {victim(Op::kFork)}},
      {"exec", {}, {victim(Op::kExec), victim(Op::kSend, kHalf)}},
      {"exec-unread", {survivor(Op::kSend, kSome)}, {victim(Op::kExec), victim(Op::kReceive, kSome)}},
  };
}

std::vector<Part> families() {
  return {
      {"family-put", {}, {victim(Op::kSend, kSome)}},
      {"family-put-behind", {victim(Op::kSend, kSome)}, {victim(Op::kSend, kSome)}},
      {"family-overflow", {}, {victim(Op::kSend, kMany)}},
      {"family-reopen",
       {victim(Op::kSend, kMany), survivor(Op::kReceive, kMany)},
       {victim(Op::kSend, kSome)}},
      {"family-receive", {survivor(Op::kSend, kSome)}, {victim(Op::kReceive, kSome)}},
      {"family-receive-part", {survivor(Op::kSend, kSome)}, {victim(Op::kReceive, kHalf)}},
      {"family-receive-turn", {survivor(Op::kSend, kMany)}, {victim(Op::kReceive, kMany)}},
      {"family-give-up", {survivor(Op::kSend, kSome)}, {victim(Op::kGiveUpRing)}},
      {"family-give-up-overflowed", {survivor(Op::kSend, kMany)}, {victim(Op::kGiveUpRing)}},
      {"family-take-back",
       {survivor(Op::kLimitFiles), victim(Op::kSend, kSome), survivor(Op::kGiveUpRing)},
       {victim(Op::kSend, kHalf)}},
      {"family-close", {survivor(Op::kSend, kSome)}, {victim(Op::kClose)}},
      {"family-exit", {survivor(Op::kSend, kSome)}, {victim(Op::kExit)}},
  };
}

bool contains(const Cues& cues, Op op) {
  for (const Cue& cue : cues)
    if (cue.op == op) return true;
  return false;
}

void add(std::vector<Script>& all, const Part& part, const Ends& ends, const Cues& first) {
  Script script;
  script.name = std::string(part.name) + (ends.caller == Who::kVictim ? ".caller" : ".called");
  script.before = first + part.before;
  script.step = part.step;
  script.has_exec = contains(part.step, Op::kExec);
  script.has_child = contains(script.before, Op::kFork);
  script.watches = std::any_of(script.before.begin(), script.before.end(), [](const Cue& cue) {
    return cue.who == Who::kSurvivor && cue.op == Op::kWatch;
  });
  script.may_sleep = script.name.find("take-back") == std::string::npos;
  script.can_go_on = !contains(part.step, Op::kClose) && !contains(part.step, Op::kExit) &&
                     !contains(part.step, Op::kExec) && !contains(part.step, Op::kFork) &&
                     !contains(part.step, Op::kShutdown);
  all.push_back(script);
}

// Each call of a meeting becomes a step of its caller.
void add_meetings(std::vector<Script>& all) {
  for (const Ends& ends : kRoles) {
    const Cues calls = meeting(ends);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].who != Who::kVictim) continue;
      const std::string name = "meet-" + std::to_string(i + 1);
      const Cues first = connected(ends) + Cues(calls.begin(), calls.begin() + static_cast<long>(i));
      add(all, {name.c_str(), {}, {calls[i]}}, ends, first);
    }
  }
}

std::vector<Script> make_scripts() {
  std::vector<Script> all;
  add_meetings(all);
  for (const Ends& ends : kRoles) {
    const Cues met = connected(ends) + meeting(ends);
    const Cues shared = met + Cues{victim(Op::kFork)};
    for (const auto& parts : {transfers(), ways_out(), lookings(), endings()})
      for (const Part& part : parts) add(all, part, ends, met);
    for (const Part& part : takings_back()) {  // before the first connection
      const Cues limit(part.before.begin(), part.before.begin() + 1);
      const Cues rest(part.before.begin() + 1, part.before.end());
      add(all, {part.name, rest, part.step}, ends, limit + met);
    }
    for (const Part& part : families()) {
      const bool limits = !part.before.empty() && part.before.front().op == Op::kLimitFiles;
      const Cues limit = limits ? Cues{part.before.front()} : Cues{};
      const Cues rest(part.before.begin() + (limits ? 1 : 0), part.before.end());
      add(all, {part.name, rest, part.step}, ends, limit + shared);
    }
  }
  return all;
}

}  // namespace

const std::vector<Script>& scripts() {
  static const std::vector<Script> all = make_scripts();
  return all;
}

const char* name_of(Attitude attitude) {
  switch (attitude) {
    case Attitude::kReads: return "reads";
    case Attitude::kWrites: return "writes";
    case Attitude::kSleeps: return "sleeps";
  }
  return "?";
}

}  // namespace killing
