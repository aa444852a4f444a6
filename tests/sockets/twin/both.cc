// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/both.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tests/sockets/twin/describe.h"

namespace twin {
namespace {

constexpr std::size_t kLinesMax = 400;
constexpr int kPauseMaxUs = 1000;
constexpr int kEdgeMs = 60;

bool agree(const Answer& left, const Answer& right) {
  return left.result == right.result && left.error == right.error && left.bytes == right.bytes &&
         left.hash == right.hash && left.message_flags == right.message_flags &&
         left.address_length == right.address_length && left.values == right.values &&
         left.pipe_signals == right.pipe_signals;
}

bool is_try_again(const Answer& answer) {
  return answer.result == -1 && answer.error == EAGAIN;
}

}  // namespace

bool Patience::pause() {
  if (waited_us_ > kArrivalMs * 1000) return false;
  usleep(static_cast<useconds_t>(next_us_));
  waited_us_ += next_us_;
  next_us_ = std::min(next_us_ * 2, kPauseMaxUs);
  return true;
}

Both::Both(const std::array<std::vector<std::string>, kWorlds>& environments, Counts& counts)
    : plain_(environments[0]), layered_(environments[1]), counts_(counts) {}

void Both::note(const std::string& line) {
  if (lines_.size() >= kLinesMax) lines_.erase(lines_.begin(), lines_.begin() + kLinesMax / 2);
  lines_.push_back(line);
}

void Both::title(std::size_t before, const std::string& line) {
  const std::size_t at = std::min(before, lines_.size());
  lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(at), line);
}

std::string Both::story(std::size_t lines) const {
  std::string text;
  for (std::size_t i = lines_.size() - std::min(lines, lines_.size()); i < lines_.size(); ++i)
    text += lines_[i] + "\n";
  return text;
}

Answers Both::call(std::size_t process, const Commands& commands) {
  ++counts_.calls[call_name(commands[0])];
  Answers answers;
  for (std::size_t w = 0; w < kWorlds; ++w) world(w).tell(process, commands[w]);
  for (std::size_t w = 0; w < kWorlds; ++w) answers[w] = world(w).answer(process);
  note("  " + describe(process, commands[0]) + " -> " + describe(answers[0]) +
       (agree(answers[0], answers[1]) ? "" : " | layered " + describe(answers[1])));
  if (answers[0].error == kHung || answers[1].error == kHung) differ("no answer", process, commands, answers);
  return answers;
}

Answer Both::call_one(std::size_t index, std::size_t process, const Command& command) {
  world(index).tell(process, command);
  Answer answer = world(index).answer(process);
  if (answer.error == kHung) {
    Answers answers;
    answers[index] = answer;
    differ(index == 0 ? "no answer in the plain world" : "no answer in the layered world", process,
           same(command), answers);
  }
  return answer;
}

void Both::differ(const std::string& why, std::size_t process, const Commands& commands,
                  const Answers& answers) {
  throw Difference{why + "\n  " + describe(process, commands[0]) + "\n    plain:   " + describe(answers[0]) +
                   "\n    layered: " + describe(answers[1])};
}

void Both::require_same(std::size_t process, const Commands& commands, const Answers& answers) {
  if (answers[0].first_wrong >= 0) differ("a wrong byte in the plain world", process, commands, answers);
  if (answers[1].first_wrong >= 0) differ("a wrong byte", process, commands, answers);
  if (!agree(answers[0], answers[1])) differ("the answers differ", process, commands, answers);
}

Answers Both::call_same(std::size_t process, const Commands& commands) {
  const Answers answers = call(process, commands);
  require_same(process, commands, answers);
  return answers;
}

Answers Both::ask_same(std::size_t process, const Command& command) {
  Answers answers = call(process, command);
  Patience patience;
  while (!agree(answers[0], answers[1]) && patience.pause()) {
    ++counts_.asked_again;
    for (std::size_t w = 0; w < kWorlds; ++w) answers[w] = call_one(w, process, command);
    if (agree(answers[0], answers[1])) note("    after a while " + describe(answers[0]));
  }
  require_same(process, same(command), answers);
  return answers;
}

Answers Both::ask_edges(std::size_t process, const Command& command) {
  Answers answers = call(process, command);
  Patience patience;
  const auto lacks = [&](std::size_t world) {
    bool does = answers[world].result < 0;
    for (std::size_t i = 0; i < kWatchedMax; ++i)
      does = does || (answers[1 - world].values[i] & ~answers[world].values[i]) != 0;
    return does;
  };
  while (answers[0].error == answers[1].error && (lacks(0) || lacks(1)) && patience.pause()) {
    ++counts_.asked_again;
    // The plain world gets a short time only, because the other world often reports one edge more.
    if (!lacks(1) && patience.is_over(kEdgeMs)) break;
    for (std::size_t w = 0; w < kWorlds; ++w) {
      if (!lacks(w)) continue;
      const Answer again = call_one(w, process, command);
      for (std::size_t i = 0; i < kWatchedMax; ++i) answers[w].values[i] |= again.values[i];
    }
  }
  if (answers[0].error != answers[1].error) differ("the answers differ", process, same(command), answers);
  if (lacks(1)) differ("an edge is lost", process, same(command), answers);
  if (lacks(0)) ++counts_.more_edges[1];
  return answers;
}

// Asks the world that is behind once more. False: it is not behind, because its answer differs otherwise.
bool Both::improve(std::size_t index, std::size_t process, const Command& command, Answer& answer,
                   const Answer& better) {
  const bool is_peek = (command.flags & MSG_PEEK) != 0;
  if (is_try_again(answer)) {
    const Answer again = call_one(index, process, command);
    if (!is_try_again(again)) answer = again;
    return true;
  }
  if (answer.bytes <= 0 || better.bytes <= answer.bytes) return false;
  if (is_peek) {
    answer = call_one(index, process, command);
    return true;
  }
  Command rest = command;
  rest.op = Op::recv;
  rest.variant = static_cast<std::uint32_t>(RecvCall::recv);
  rest.flags = (command.flags & MSG_TRUNC) | MSG_DONTWAIT;
  rest.length = better.bytes - answer.bytes;
  rest.parts = 1;
  rest.position += static_cast<std::uint64_t>(answer.bytes);
  rest.hash = answer.hash;
  const Answer more = call_one(index, process, rest);
  if (more.result < 0) return is_try_again(more);
  if (more.first_wrong >= 0 && answer.first_wrong < 0) answer.first_wrong = answer.bytes + more.first_wrong;
  answer.bytes += more.bytes;
  answer.hash = more.hash;
  answer.result = better.bytes == answer.bytes ? better.result : answer.result + more.result;
  return more.result > 0;
}

Answers Both::receive_same(std::size_t process, const Commands& commands, bool is_known) {
  return receive_rest(process, commands, call(process, commands), is_known);
}

Answers Both::receive_rest(std::size_t process, const Commands& commands, Answers answers, bool is_known) {
  Patience patience;
  bool was_short = false;
  while (answers[0].bytes != answers[1].bytes || answers[0].error != answers[1].error) {
    const bool both_moved = answers[0].bytes > 0 && answers[1].bytes > 0;
    const std::size_t behind =
        is_try_again(answers[0]) || (both_moved && answers[0].bytes < answers[1].bytes) ? 0 : 1;
    if (both_moved && !was_short) ++counts_.short_receives[behind];
    was_short = was_short || both_moved;
    ++counts_.asked_again;
    if (!improve(behind, process, commands[behind], answers[behind], answers[1 - behind])) break;
    if (answers[behind].bytes < answers[1 - behind].bytes && !patience.pause()) break;
    if (is_try_again(answers[behind]) && !patience.pause()) break;
  }
  // Short receives also change the number of recvmmsg's messages, and whether all were full.
  if (was_short) {
    answers[1].result = answers[0].result;
    answers[1].message_flags = answers[0].message_flags;
  }
  if (was_short) note("    and the rest: " + describe(answers[0]) + " | layered " + describe(answers[1]));
  if (!is_known) answers[0].first_wrong = answers[1].first_wrong = -1;
  require_same(process, commands, answers);
  return answers;
}

void Both::settle(std::size_t process, int fd, short events, int timeout_ms) {
  Command command = {};
  command.op = Op::settle;
  command.fd = fd;
  command.flags = events;
  command.timeout_ms = timeout_ms;
  static_cast<void>(call(process, command));
}

}  // namespace twin
