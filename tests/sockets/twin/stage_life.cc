// Steps that make, copy and end connections.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "tests/sockets/twin/stage.h"

namespace twin {

bool Stage::life(const Step& step) {
  switch (step.kind) {
    case Kind::connect: return connect(step);
    case Kind::accept: return accept(step);
    case Kind::close: return close(step);
    case Kind::shutdown: return shutdown(step);
    case Kind::dup: return dup(step);
    default: return false;
  }
}

// Connects mostly to the other side's listener, sometimes to its own.
bool Stage::connect(const Step& step) {
  Connection& connection = model_.connections[step.connection];
  if (connection.state != Connection::State::none) return false;
  const std::size_t side = step.process / 2 * 2;
  const std::size_t listener = step.a % 8 == 0 ? side : 2 - side;
  if (!model_.is_held({Handle::Kind::listener, listener, 0, false})) return false;
  Command command = {};
  command.op = Op::connect;
  command.name = step.b % 32 != 0;
  command.flags = (step.b / 32 % 4 == 0 ? SOCK_NONBLOCK : 0) | (step.b / 128 % 4 == 0 ? SOCK_CLOEXEC : 0);
  Commands commands = Both::same(command);
  for (std::size_t w = 0; w < kWorlds; ++w) commands[w].value = model_.listener_ports[listener][w];
  const Answers answers = both_.call_same(step.process, commands);
  connection = {};
  connection.state = Connection::State::pending;
  connection.listener = listener;
  connection.number = ++model_.connections_made;
  connection.is_delayed = command.name == 0;
  connection.ends[0].is_open = connection.ends[1].is_open = true;
  connection.ends[0].opener = step.process;
  connection.ends[0].is_nonblocking = (command.flags & SOCK_NONBLOCK) != 0;
  for (std::size_t w = 0; w < kWorlds; ++w) connection.ports[0][w] = answers[w].port;
  for (std::size_t w = 0; w < kWorlds; ++w) connection.ports[1][w] = model_.listener_ports[listener][w];
  model_.pending.push_back(step.connection);
  const bool is_cloexec = (command.flags & SOCK_CLOEXEC) != 0;
  add(step.process, static_cast<int>(answers[0].result), {Handle::Kind::end, step.connection, 0, is_cloexec});
  return true;
}

// Accepts the oldest connection at a listener of the process.
bool Stage::accept(const Step& step) {
  for (std::size_t i = 0; i < model_.pending.size(); ++i) {
    const std::size_t index = model_.pending[i];
    Connection& connection = model_.connections[index];
    const int listener = model_.listener_of(step.process, connection.listener);
    if (listener < 0) continue;
    Command command = {};
    command.op = Op::accept;
    command.fd = listener;
    command.variant = step.a % 2;
    command.name = !connection.is_delayed;
    if (command.variant == 1)
      command.flags = (step.a / 2 % 4 == 0 ? SOCK_NONBLOCK : 0) | (step.a / 8 % 4 == 0 ? SOCK_CLOEXEC : 0);
    const Answers answers = both_.call_same(step.process, command);
    for (std::size_t w = 0; w < kWorlds; ++w)
      if (answers[w].port != connection.ports[0][w])
        both_.differ("accept took another connection", step.process, Both::same(command), answers);
    model_.pending.erase(model_.pending.begin() + static_cast<std::ptrdiff_t>(i));
    connection.state = Connection::State::established;
    connection.ends[1].opener = step.process;
    connection.ends[1].is_nonblocking = (command.flags & SOCK_NONBLOCK) != 0;
    const bool is_cloexec = (command.flags & SOCK_CLOEXEC) != 0;
    add(step.process, static_cast<int>(answers[0].result), {Handle::Kind::end, index, 1, is_cloexec});
    return true;
  }
  return false;
}

bool Stage::close(const Step& step) {
  Command command = {};
  command.op = Op::close;
  command.variant = step.b % static_cast<std::uint32_t>(CloseCall::count);
  const std::vector<int> sets = model_.sets_of(step.process);
  if (step.a % 8 == 0 && !sets.empty()) {
    command.fd = sets[step.c % sets.size()];
  } else {
    const std::optional<Place> place = place_of(step, step.c);
    if (!place) return false;
    command.fd = place->fd;
  }
  both_.call_same(step.process, command);
  forget(step.process, command.fd);
  return true;
}

bool Stage::shutdown(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place) return false;
  Command command = {};
  command.op = Op::shutdown;
  command.fd = place->fd;
  command.name = static_cast<int>(step.a % 3);
  const Answers answers = both_.call_same(step.process, command);
  if (answers[0].result != 0) return true;
  if (command.name != SHUT_WR) end_at(*place).receives_no_more = true;
  if (command.name == SHUT_RD) return true;
  const bool is_first = !stream_from(*place).is_ended;
  stream_from(*place).is_ended = true;
  const std::optional<Place> peer = peer_of(*place);
  if (is_first && peer)
    both_.settle(peer->process, peer->fd, end_at(*peer).receives_no_more ? POLLHUP : POLLRDHUP,
                 end_at(*peer).receives_no_more ? 20 : kArrivalMs);
  return true;
}

bool Stage::dup(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place) return false;
  Command command = {};
  command.op = Op::dup;
  command.variant = step.a % static_cast<std::uint32_t>(DupCall::count);
  command.fd = place->fd;
  const auto call = static_cast<DupCall>(command.variant);
  const bool replaces = call == DupCall::dup2 || call == DupCall::dup3;
  if (call != DupCall::dup) command.fd2 = kDupBase + static_cast<int>(step.b % 4);
  // Sometimes replaces another connection, or itself.
  const auto& handles = model_.processes[step.process].handles;
  if (replaces && step.b / 4 % 8 == 0) {
    auto chosen = handles.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(step.b / 32 % handles.size()));
    if (chosen->second.kind != Handle::Kind::listener) command.fd2 = chosen->first;
  }
  if (call == DupCall::dup3 && step.b / 1024 % 2 == 0) command.flags = O_CLOEXEC;
  if (handles.size() > 24) return false;
  Handle handle = handles.at(place->fd);
  const Answers answers = both_.call_same(step.process, command);
  if (answers[0].result < 0 || answers[0].result == place->fd) return true;
  handle.is_cloexec = command.flags != 0 || call == DupCall::dupfd_cloexec;
  const int fd = static_cast<int>(answers[0].result);
  const auto replaced = handles.find(fd);
  if (replaced == handles.end()) {
    add(step.process, fd, handle);
    return true;
  }
  // The new connection is held before the old one is released.
  const Handle old = replaced->second;
  add(step.process, fd, handle);
  const int unused = -2;
  model_.processes[step.process].handles[unused] = old;
  auto node = model_.processes[step.process].handles.extract(unused);
  if (!model_.is_held(old)) {
    node.key() = unused;
    model_.processes[step.process].handles.insert(std::move(node));
    forget(step.process, unused);
  }
  return true;
}

}  // namespace twin
