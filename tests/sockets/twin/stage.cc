// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/stage.h"

#include <poll.h>

namespace twin {
namespace {

constexpr int kUncertainMs = 100;
constexpr int kDelayMs = 300;  // more than the delay of Nagle's algorithm and of MSG_MORE

}  // namespace

Stage::Stage(const std::array<std::vector<std::string>, kWorlds>& environments, Counts& counts)
    : both_(environments, counts) {
  for (std::size_t process = 0; process < kProcesses; process += 2) {
    for (std::size_t w = 0; w < kWorlds; ++w)
      model_.processes[process].pids[w] = both_.world(w).answer(process).pid;
    model_.processes[process].is_alive = true;
    Command command = {};
    command.op = Op::listen;
    const Answers answers = both_.call_same(process, command);
    for (std::size_t w = 0; w < kWorlds; ++w) model_.listener_ports[process][w] = answers[w].port;
    add(process, static_cast<int>(answers[0].result), {Handle::Kind::listener, process, 0, false});
  }
}

bool Stage::perform(const Step& step) {
  if (!model_.processes[step.process].is_alive) return false;
  const std::size_t before = both_.lines();
  const bool is_done = io(step) || wait(step) || life(step) || state(step) || processes(step);
  if (is_done) both_.title(before, text_of({step}));
  return is_done;
}

std::optional<Stage::Place> Stage::place_of(const Step& step, std::uint32_t choice) const {
  const std::vector<int> numbers = model_.ends_of(step.process, step.connection);
  if (numbers.empty()) return std::nullopt;
  const int fd = numbers[choice % numbers.size()];
  return Place{step.process, step.connection, model_.processes[step.process].handles.at(fd).end, fd};
}

std::optional<Stage::Place> Stage::peer_of(const Place& place) const {
  Place peer = {0, place.index, 1 - place.end, -1};
  if (!model_.find_holder(peer.index, peer.end, peer.process, peer.fd)) return std::nullopt;
  return peer;
}

bool Stage::is_over(const Place& place) const {
  const Connection& connection = model_.connections[place.index];
  return connection.is_reset || connection.to[place.end].is_ended ||
         !connection.ends[1 - place.end].is_open || connection.ends[place.end].receives_no_more;
}

bool Stage::will_receive(const Place& place, std::uint64_t count) const {
  const Connection& connection = model_.connections[place.index];
  if (is_over(place)) return true;
  const auto low_water = static_cast<std::uint64_t>(connection.ends[place.end].low_water);
  const Stream& stream = connection.to[place.end];
  return !stream.is_urgent && stream.due_at_least() >= std::max<std::uint64_t>({1, count, low_water});
}

bool Stage::is_quiet(const Place& place) const {
  const Stream& stream = model_.connections[place.index].to[place.end];
  return !is_over(place) && !stream.is_urgent && stream.due_at_most() == 0 &&
         model_.connections[place.index].ends[place.end].low_water == 1;
}

bool Stage::has_room(const Place& place, std::uint64_t count) const {
  const Connection& connection = model_.connections[place.index];
  const bool is_lost = connection.is_reset || connection.to[1 - place.end].is_ended;
  return is_lost || connection.to[1 - place.end].due_at_most() + count <= kRoomBytes;
}

bool Stage::can_move(const Place& place) const {
  const Connection& connection = model_.connections[place.index];
  const Place peer = {0, place.index, 1 - place.end, -1};
  return connection.state == Connection::State::established && !is_over(place) && !is_over(peer) &&
         !connection.to[0].is_urgent && !connection.to[1].is_urgent && connection.ends[0].low_water == 1 &&
         connection.ends[1].low_water == 1 && peer_of(place).has_value();
}

Commands Stage::sending(const Place& place, const Command& command) {
  Commands commands = Both::same(command);
  for (std::size_t w = 0; w < kWorlds; ++w) {
    commands[w].stream = connection_at(place).number * 2 + (1 - place.end);
    commands[w].position = stream_from(place).sent[w];
  }
  return commands;
}

Commands Stage::receiving(const Place& place, const Command& command) {
  Commands commands = Both::same(command);
  for (std::size_t w = 0; w < kWorlds; ++w) {
    commands[w].stream = connection_at(place).number * 2 + place.end;
    commands[w].position = stream_to(place).received[w];
  }
  return commands;
}

// A closed peer answers with a reset. The next call must meet it, so this waits for it.
void Stage::note_sent(const Place& place, const Answers& answers) {
  for (std::size_t w = 0; w < kWorlds; ++w)
    stream_from(place).sent[w] += static_cast<std::uint64_t>(std::max<std::int64_t>(answers[w].bytes, 0));
  Connection& connection = connection_at(place);
  if (answers[0].bytes <= 0 || connection.is_reset || connection.ends[1 - place.end].is_open) return;
  connection.is_reset = true;
  both_.settle(place.process, place.fd, POLLHUP | POLLERR, kArrivalMs);
}

void Stage::note_received(const Place& place, const Answers& answers) {
  for (std::size_t w = 0; w < kWorlds; ++w)
    stream_to(place).received[w] += static_cast<std::uint64_t>(std::max<std::int64_t>(answers[w].bytes, 0));
}

// Waits for the bytes' arrival. Its time is the kernel's choice (Nagle, a loaded machine), and a later close
// loses bytes that have not arrived.
void Stage::send_same(const Place& place, const Command& command) {
  note_sent(place, both_.call_same(place.process, sending(place, command)));
  Command flush = {};
  flush.op = Op::flush;
  flush.fd = place.fd;
  flush.timeout_ms = connection_at(place).is_delayed ? kDelayMs : kUncertainMs;
  const Connection& connection = connection_at(place);
  if (!connection.is_reset && connection.ends[1 - place.end].is_open)
    static_cast<void>(both_.call(place.process, flush));
}

void Stage::drain_all(const Place& place) {
  Command command = {};
  command.op = Op::drain;
  command.fd = place.fd;
  Commands commands = receiving(place, command);
  for (std::size_t w = 0; w < kWorlds; ++w)
    commands[w].length = static_cast<std::int64_t>(stream_to(place).due(w));
  const Answers answers = both_.call(place.process, commands);
  for (std::size_t w = 0; w < kWorlds; ++w)
    if (answers[w].bytes != commands[w].length || answers[w].first_wrong >= 0)
      both_.differ("not all bytes came, or a wrong one did", place.process, commands, answers);
  note_received(place, answers);
}

void Stage::forget(std::size_t process, int fd) {
  auto& handles = model_.processes[process].handles;
  const auto found = handles.find(fd);
  if (found == handles.end()) return;
  const Handle handle = found->second;
  handles.erase(found);
  if (model_.is_held(handle)) return;
  if (handle.kind == Handle::Kind::end) {
    on_end_closed(handle.index, handle.end);
  } else if (handle.kind == Handle::Kind::set) {
    model_.sets[handle.index] = {};
  } else {
    // The kernel resets connections that were not accepted.
    const std::vector<std::size_t> pending = model_.pending;
    for (const std::size_t index : pending) {
      if (model_.connections[index].listener != handle.index) continue;
      std::erase(model_.pending, index);
      model_.connections[index].ends[1].resets = true;
      on_end_closed(index, 1);
    }
  }
}

void Stage::forget_all(std::size_t process, bool only_cloexec) {
  std::vector<int> numbers;
  for (const auto& [fd, handle] : model_.processes[process].handles)
    if (!only_cloexec || handle.is_cloexec) numbers.push_back(fd);
  if (only_cloexec) {
    for (const int fd : numbers) forget(process, fd);
    return;
  }
  // The process ends first, so that no question goes through it any more.
  const auto handles = model_.processes[process].handles;
  model_.processes[process].is_alive = false;
  for (const int fd : numbers) forget(process, fd);
}

void Stage::on_end_closed(std::size_t index, std::size_t end) {
  Connection& connection = model_.connections[index];
  Stream& unread = connection.to[end];
  const bool resets = connection.ends[end].resets || unread.due_at_most() > 0;
  const bool is_certain = !unread.is_urgent;
  connection.ends[end].is_open = false;
  connection.to[1 - end].is_ended = true;
  Place other = {0, index, 1 - end, -1};
  const bool was_reset = connection.is_reset;
  connection.is_reset = was_reset || resets;
  if (!connection.ends[0].is_open && !connection.ends[1].is_open) {
    if (connection.state != Connection::State::pending || end == 1) connection = {};
    return;
  }
  if (was_reset || !model_.find_holder(index, other.end, other.process, other.fd)) return;
  const bool is_silent = connection.ends[other.end].receives_no_more && !resets;
  const auto events = static_cast<short>(resets ? POLLHUP | POLLERR : POLLRDHUP);
  both_.settle(other.process, other.fd, events, is_certain && !is_silent ? kArrivalMs : kUncertainMs);
}

}  // namespace twin
