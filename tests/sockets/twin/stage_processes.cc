// Steps that make, change and end processes, and pass connections between them.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/socket.h>

#include "tests/sockets/twin/stage.h"

namespace twin {

bool Stage::processes(const Step& step) {
  switch (step.kind) {
    case Kind::fork: return fork(step, Op::fork);
    case Kind::spawn: return fork(step, Op::spawn);
    case Kind::exec: return exec(step);
    case Kind::pass: return pass(step);
    case Kind::leave: return leave(step);
    case Kind::kill: return kill(step);
    default: return false;
  }
}

// A root has at most one child.
bool Stage::fork(const Step& step, Op op) {
  Process& parent = model_.processes[step.process];
  if (!Model::is_root(step.process) || parent.had_child) return false;
  const std::size_t child = step.process + 1u;
  Command command = {};
  command.op = op;
  const Answers answers = both_.call_same(step.process, command);
  if (answers[0].result != 0) both_.differ("no child", step.process, Both::same(command), answers);
  parent.had_child = true;
  for (std::size_t w = 0; w < kWorlds; ++w) {
    model_.processes[child].pids[w] = answers[w].pid;
    both_.world(w).note_child(child, answers[w].pid);
    if (both_.world(w).answer(child).error != 0)
      both_.differ("the child does not say hello", child, Both::same(command), answers);
  }
  model_.processes[child].is_alive = true;
  for (const auto& [fd, handle] : parent.handles)
    if (op == Op::fork || !handle.is_cloexec) add(child, fd, handle);
  return true;
}

bool Stage::exec(const Step& step) {
  Command command = {};
  command.op = Op::exec;
  both_.call_same(step.process, command);
  forget_all(step.process, true);
  return true;
}

bool Stage::pass(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  const std::size_t to = step.a % kProcesses;
  if (!place || to == step.process || !model_.processes[to].is_alive) return false;
  // The ring's bytes cannot be sent by TCP if the peer has closed, or has left the connection to a child.
  const bool is_unread = stream_to(*place).due_at_most() > 0 || stream_to(*place).is_urgent;
  if (is_unread && (is_over(*place) || stream_to(*place).is_urgent ||
                    !model_.is_held_by_opener(place->index, 1 - place->end)))
    return false;
  if (model_.processes[to].handles.size() > 24) return false;
  Command command = {};
  command.op = Op::pass;
  command.fd = place->fd;
  const Answers passed = both_.call_same(step.process, command);
  if (passed[0].result != 1) return true;
  Handle handle = model_.processes[step.process].handles.at(place->fd);
  // Sometimes only the message holds the connection for a moment.
  const bool lets_go = step.b % 4 == 0;
  if (lets_go) {
    Command closing = {};
    closing.op = Op::close;
    closing.fd = place->fd;
    both_.call_same(step.process, closing);
    model_.processes[step.process].handles.erase(place->fd);
  }
  command = {};
  command.op = Op::take;
  command.flags = step.b / 4 % 2 == 0 ? MSG_CMSG_CLOEXEC : 0;
  const Answers answers = both_.call_same(to, command);
  if (answers[0].result < 0) both_.differ("nothing was passed", to, Both::same(command), answers);
  handle.is_cloexec = command.flags != 0;
  add(to, static_cast<int>(answers[0].result), handle);
  return true;
}

bool Stage::leave(const Step& step) {
  Command command = {};
  command.op = Op::leave;
  command.variant = step.a % static_cast<std::uint32_t>(LeaveCall::count);
  command.value = static_cast<int>(step.b % 100);
  both_.call_same(step.process, command);
  std::array<int, kWorlds> statuses = {};
  for (std::size_t w = 0; w < kWorlds; ++w) statuses[w] = both_.world(w).wait_for_end(step.process);
  if (statuses[0] != statuses[1]) throw Difference{"a process ends with another status"};
  end_process(step.process, step);
  return true;
}

// Sometimes kills a process that sleeps in a call.
bool Stage::kill(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (step.a % 2 == 0 && place && is_quiet(*place) && can_move(*place) && !end_at(*place).is_nonblocking)
    static_cast<void>(start_blocked(step, *place, -1));
  for (std::size_t w = 0; w < kWorlds; ++w) both_.world(w).kill(step.process);
  both_.note("  SIGKILL");
  end_process(step.process, step);
  return true;
}

void Stage::end_process(std::size_t process, const Step& step) {
  const std::size_t parent = process - 1;
  if (!Model::is_root(process) && model_.processes[parent].is_alive) {
    Command command = {};
    command.op = Op::reap;
    Commands commands = Both::same(command);
    for (std::size_t w = 0; w < kWorlds; ++w) commands[w].value = model_.processes[process].pids[w];
    both_.call_same(parent, commands);
  }
  static_cast<void>(step);
  forget_all(process, false);
}

}  // namespace twin
