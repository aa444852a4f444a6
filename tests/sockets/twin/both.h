// A call in both worlds, with equal results in both. Only the arrival of bytes may differ in time, so
// questions are repeated for a while before a difference counts. Thread: the controller's only one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/sockets/twin/model.h"
#include "tests/sockets/twin/world.h"

namespace twin {

using Commands = std::array<Command, kWorlds>;
using Answers = std::array<Answer, kWorlds>;

struct Difference {
  std::string what;
};

struct Counts {
  std::uint64_t steps = 0;
  std::uint64_t scripts = 0;
  std::map<std::string, std::uint64_t> calls;
  std::map<std::string, std::uint64_t> kinds;
  std::map<std::string, double> seconds;  // by kind of step
  // Receives of fewer bytes than were there: allowed and reported.
  std::array<std::uint64_t, kWorlds> short_receives = {};
  // Edges of true readiness that only one world reported: allowed and reported.
  std::array<std::uint64_t, kWorlds> more_edges = {};
  std::uint64_t asked_again = 0;
};

class Both {
 public:
  Both(const std::array<std::vector<std::string>, kWorlds>& environments, Counts& counts);

  static Commands same(const Command& command) { return {command, command}; }

  // Makes the call once in each world, at the same time. Throws Difference if a process does not answer.
  Answers call(std::size_t process, const Commands& commands);
  Answers call(std::size_t process, const Command& command) { return call(process, same(command)); }
  Answer call_one(std::size_t world, std::size_t process, const Command& command);
  // Like call(); throws Difference unless the answers agree.
  Answers call_same(std::size_t process, const Commands& commands);
  Answers call_same(std::size_t process, const Command& command) { return call_same(process, same(command)); }
  // Like call_same(), for calls that change nothing: repeats them while the answers differ.
  Answers ask_same(std::size_t process, const Command& command);
  // epoll_wait on a set with edges. Each edge is reported once, so a world's events of the whole time are
  // combined.
  Answers ask_edges(std::size_t process, const Command& command);
  // For calls that receive: a world with fewer bytes receives the rest.
  Answers receive_same(std::size_t process, const Commands& commands, bool is_known);
  // Completes the answers of a receiving call in a thread.
  Answers receive_rest(std::size_t process, const Commands& commands, Answers answers, bool is_known);
  void require_same(std::size_t process, const Commands& commands, const Answers& answers);
  // Waits until the kernel has reported one of `events` for `fd`.
  void settle(std::size_t process, int fd, short events, int timeout_ms);
  [[noreturn]] void differ(const std::string& why, std::size_t process, const Commands& commands,
                           const Answers& answers);

  World& world(std::size_t index) { return index == 0 ? plain_ : layered_; }
  Counts& counts() { return counts_; }
  void note(const std::string& line);
  [[nodiscard]] std::size_t lines() const { return lines_.size(); }
  // Inserts a line before the lines of a step.
  void title(std::size_t before, const std::string& line);
  // Returns the last lines of the record.
  [[nodiscard]] std::string story(std::size_t lines) const;

 private:
  bool improve(std::size_t world, std::size_t process, const Command& command, Answer& answer,
               const Answer& better);

  World plain_;
  World layered_;
  Counts& counts_;
  std::vector<std::string> lines_;
};

// The time limit for an arrival through the network.
inline constexpr int kArrivalMs = 1500;

class Patience {
 public:
  // False: time is over.
  bool pause();
  [[nodiscard]] bool is_over(int time_ms) const { return waited_us_ > time_ms * 1000; }

 private:
  int waited_us_ = 0;
  int next_us_ = 20;
};

}  // namespace twin
