// Steps that ask for readiness, and calls that block until another step ends them.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>

#include "tests/sockets/twin/lengths.h"
#include "tests/sockets/twin/stage.h"

namespace twin {
namespace {

constexpr int kJoinMs = 4000;
constexpr int kBlockedMs = 6000;
constexpr std::uint32_t kPolled[] = {
    POLLIN, POLLOUT, POLLIN | POLLOUT, POLLIN | POLLRDHUP, POLLIN | POLLOUT | POLLPRI | POLLRDHUP, 0};
constexpr std::uint32_t kBoth = EPOLLIN | EPOLLOUT;

}  // namespace

bool Stage::wait(const Step& step) {
  switch (step.kind) {
    case Kind::poll: return poll(step);
    case Kind::blocked: return blocked(step);
    case Kind::timeout: return timeout(step);
    case Kind::epoll_create: return epoll_create(step);
    case Kind::epoll_ctl: return epoll_ctl(step);
    case Kind::epoll_wait: return epoll_wait(step);
    default: return false;
  }
}

// Any descriptors of the process: connections, listeners, sets.
bool Stage::poll(const Step& step) {
  Command command = {};
  command.op = Op::poll;
  command.variant = step.b % static_cast<std::uint32_t>(PollCall::count);
  std::uint32_t choice = step.a;
  for (const auto& [fd, handle] : model_.processes[step.process].handles) {
    choice = choice * 1664525U + 1013904223U;
    const bool is_named = handle.kind == Handle::Kind::end && handle.index == step.connection;
    // A question to a set with edges consumes them.
    if (handle.kind == Handle::Kind::set && model_.sets[handle.index].has_edges) continue;
    if (command.watched_count == kWatchedMax || (!is_named && choice >> 24U > 80)) continue;
    command.watched[command.watched_count++] = {fd, kPolled[(choice >> 16U) % std::size(kPolled)]};
  }
  if (command.watched_count == 0) return false;
  both_.ask_same(step.process, command);
  return true;
}

// A call without bytes sleeps. A signal may interrupt it. Then the peer sends or ends.
bool Stage::blocked(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place || !is_quiet(*place) || !can_move(*place)) return false;
  const std::uint32_t choice = step.a % 8;
  const bool is_recv = choice < 5;
  if (is_recv && end_at(*place).is_nonblocking) return false;
  const int set = choice == 7 ? set_of_one(*place, step.b / 8192 % 2 == 0 ? EPOLLIN : EPOLLIN | EPOLLET) : -1;
  const Commands commands = start_blocked(step, *place, set);
  const bool is_signalled = step.b / 16 % 4 < 2;
  if (is_signalled) interrupt(*place);
  if (!is_signalled || commands[0].restart != 0) wake(step, *place);
  Command join = {};
  join.op = Op::join;
  join.timeout_ms = kJoinMs;
  const Answers answers = both_.call(place->process, join);
  if (is_recv) {
    note_received(*place, both_.receive_rest(place->process, commands, answers, true));
  } else {
    both_.require_same(place->process, commands, answers);
  }
  if (set < 0) return true;
  Command command = {};
  command.op = Op::close;
  command.fd = set;
  both_.call_same(place->process, command);
  return true;
}

int Stage::set_of_one(const Place& place, std::uint32_t events) {
  Command command = {};
  command.op = Op::epoll_create;
  const Answers answers = both_.call_same(place.process, command);
  command.op = Op::epoll_ctl;
  command.fd = static_cast<int>(answers[0].result);
  command.fd2 = place.fd;
  command.name = EPOLL_CTL_ADD;
  command.flags = static_cast<int>(events);
  both_.call_same(place.process, command);
  return command.fd;
}

Commands Stage::start_blocked(const Step& step, const Place& place, int set) {
  Command command = {};
  command.op = Op::start;
  command.fd = place.fd;
  command.inner = Op::recv;
  if (step.a % 8 < 5) {
    command.variant = step.b % static_cast<std::uint32_t>(RecvCall::count);
    command.length = static_cast<std::int64_t>(1 + length_of(step.c));
    if (static_cast<RecvCall>(command.variant) == RecvCall::recvmmsg) command.flags = MSG_WAITFORONE;
  } else if (set >= 0) {
    command.inner = Op::epoll_wait;
    command.fd = set;
    command.variant = step.b % 2;
    command.timeout_ms = kBlockedMs;
  } else {
    command.inner = Op::poll;
    command.variant = step.b % static_cast<std::uint32_t>(PollCall::count);
    command.watched_count = 1;
    command.watched[0] = {place.fd, POLLIN};
    command.timeout_ms = kBlockedMs;
  }
  // A wait for readiness never restarts.
  command.restart = step.b / 16 % 4 == 1 && command.inner == Op::recv ? 1 : 0;
  Commands commands = receiving(place, command);
  both_.call_same(place.process, commands);
  Command ask = {};
  ask.op = Op::pending;
  both_.call_same(place.process, ask);
  for (Command& each : commands) each.op = command.inner;
  return commands;
}

void Stage::interrupt(const Place& place) {
  Command command = {};
  command.op = Op::interrupt;
  both_.call_same(place.process, command);
  command.op = Op::pending;
  both_.call_same(place.process, command);
}

void Stage::wake(const Step& step, const Place& place) {
  const std::optional<Place> peer = peer_of(place);
  Command command = {};
  command.fd = peer->fd;
  if (step.b / 64 % 8 == 0) {
    command.op = Op::shutdown;
    command.name = SHUT_WR;
    both_.call_same(peer->process, command);
    stream_to(place).is_ended = true;
    return;
  }
  command.op = Op::send;
  command.variant = static_cast<std::uint32_t>(SendCall::send);
  command.length =
      static_cast<std::int64_t>(std::min<std::uint64_t>(1 + length_of(step.b / 512), kRoomBytes));
  send_same(*peer, command);
}

bool Stage::timeout(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place || !is_quiet(*place) || end_at(*place).is_nonblocking) return false;
  Command option = {};
  option.op = Op::set_option;
  option.fd = place->fd;
  option.level = SOL_SOCKET;
  option.name = SO_RCVTIMEO;
  option.value = 4;
  both_.call_same(place->process, option);
  Command command = {};
  command.op = Op::recv;
  command.variant = step.b % static_cast<std::uint32_t>(RecvCall::count);
  command.fd = place->fd;
  command.length = 1 + step.a % 5000;
  if (static_cast<RecvCall>(command.variant) == RecvCall::recvmmsg) command.flags = MSG_WAITFORONE;
  note_received(*place, both_.receive_same(place->process, receiving(*place, command), true));
  option.value = 0;
  both_.call_same(place->process, option);
  option.op = Op::get_option;
  both_.call_same(place->process, option);
  return true;
}

bool Stage::epoll_create(const Step& step) {
  const auto free =
      std::find_if(model_.sets.begin(), model_.sets.end(), [](const Set& set) { return !set.is_open; });
  if (free == model_.sets.end()) return false;
  Command command = {};
  command.op = Op::epoll_create;
  command.variant = step.a % 2;
  command.flags = command.variant == 1 && step.a % 4 == 1 ? EPOLL_CLOEXEC : 0;
  const Answers answers = both_.call_same(step.process, command);
  if (answers[0].result < 0) return true;
  free->is_open = true;
  const auto index = static_cast<std::size_t>(free - model_.sets.begin());
  add(step.process, static_cast<int>(answers[0].result), {Handle::Kind::set, index, 0, command.flags != 0});
  return true;
}

// The data of a connection is its index, so that events of its duplicates are combined. A nested set's data
// is the index after the connections.
bool Stage::epoll_ctl(const Step& step) {
  const std::vector<int> sets = model_.sets_of(step.process);
  if (sets.empty()) return false;
  const int set = sets[step.a % sets.size()];
  Command command = {};
  command.op = Op::epoll_ctl;
  command.fd = set;
  command.name = static_cast<int>(1 + step.b % 3);
  if (step.b % 8 == 7) command.name = EPOLL_CTL_ADD;
  const std::optional<Place> place = place_of(step, step.c);
  const std::size_t set_index = model_.processes[step.process].handles.at(set).index;
  if (step.b / 8 % 12 == 0 && sets.size() > 1) {
    command.fd2 = sets[(step.a + 1) % sets.size()];
    // A question to the outer set would consume edges of the inner one.
    if (model_.sets[model_.processes[step.process].handles.at(command.fd2).index].has_edges) return false;
    command.value = static_cast<int>(kConnections);
    command.flags = EPOLLIN;
  } else {
    if (!place) return false;
    command.fd2 = place->fd;
    command.value = static_cast<int>(place->index);
    command.flags = static_cast<int>(step.c / 16 % 4 == 0   ? kBoth
                                     : step.c / 16 % 4 == 1 ? EPOLLIN | EPOLLRDHUP
                                                            : EPOLLIN);
    const std::uint32_t way = step.c / 64 % 6;
    if (way == 0) command.flags |= static_cast<int>(EPOLLET);
    if (way == 1) command.flags |= static_cast<int>(EPOLLONESHOT);
    if (way == 2) command.flags |= static_cast<int>(EPOLLET | EPOLLONESHOT);
  }
  const bool has_edges = (static_cast<std::uint32_t>(command.flags) & (EPOLLET | EPOLLONESHOT)) != 0;
  // Nested sets stay level-triggered, for the same reason.
  if (has_edges && model_.sets[set_index].is_nested) return false;
  const Answers answers = both_.call_same(step.process, command);
  if (answers[0].result != 0 || command.name == EPOLL_CTL_DEL) return true;
  if (has_edges) model_.sets[set_index].has_edges = true;
  if (command.value == static_cast<int>(kConnections))
    model_.sets[model_.processes[step.process].handles.at(command.fd2).index].is_nested = true;
  return true;
}

// Each edge is reported once, so a world's events of the whole time are combined. No edge may be lost. One
// more is allowed if it is true.
bool Stage::epoll_wait(const Step& step) {
  const std::vector<int> sets = model_.sets_of(step.process);
  if (sets.empty()) return false;
  Command command = {};
  command.op = Op::epoll_wait;
  command.variant = step.b % 2;
  command.fd = sets[step.a % sets.size()];
  const std::size_t index = model_.processes[step.process].handles.at(command.fd).index;
  if (!model_.sets[index].has_edges) {
    both_.ask_same(step.process, command);
    return true;
  }
  both_.ask_edges(step.process, command);
  return true;
}

}  // namespace twin
