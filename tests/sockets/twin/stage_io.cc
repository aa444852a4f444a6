// Steps that move bytes.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <climits>

#include "tests/sockets/twin/lengths.h"
#include "tests/sockets/twin/stage.h"

namespace twin {
namespace {

constexpr int kJoinMs = 4000;
constexpr std::int64_t kFillBytesMax = std::int64_t{64} << 20;

Command sending_call(const Step& step, int fd, std::uint64_t length) {
  Command command = {};
  command.op = Op::send;
  command.variant = step.b % static_cast<std::uint32_t>(SendCall::count);
  command.fd = fd;
  command.length = static_cast<std::int64_t>(length);
  command.parts = 1 + step.b / 16 % 3;
  return command;
}

bool takes_flags(SendCall call) {
  return call != SendCall::write && call != SendCall::writev && call != SendCall::pwritev2;
}

bool takes_flags(RecvCall call) {
  return call != RecvCall::read && call != RecvCall::readv && call != RecvCall::preadv2;
}

}  // namespace

bool Stage::io(const Step& step) {
  switch (step.kind) {
    case Kind::warm_up: return warm_up(step);
    case Kind::send: return send(step, false);
    case Kind::more: return send(step, true);
    case Kind::recv: return recv(step, 0);
    case Kind::peek: return recv(step, MSG_PEEK);
    case Kind::transfer: return transfer(step);
    case Kind::fill: return fill(step);
    case Kind::sendfile: return send_file(step, Op::sendfile);
    case Kind::splice_in: return send_file(step, Op::splice_in);
    case Kind::splice_out: return splice_out(step);
    case Kind::stdio_write: return stdio_write(step);
    case Kind::stdio_read: return stdio_read(step);
    case Kind::urgent_send: return urgent_send(step);
    case Kind::urgent_recv: return urgent_recv(step);
    case Kind::bad: return bad(step);
    case Kind::cork: return cork(step);
    default: return false;
  }
}

// Exchanges enough short messages for the ends to meet in a lane, if they will.
bool Stage::warm_up(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place || !can_move(*place)) return false;
  const std::optional<Place> peer = peer_of(*place);
  constexpr std::uint64_t kBytes = 3;
  constexpr int kRounds = 6;
  if (stream_to(*place).due_at_most() + stream_from(*place).due_at_most() > 0) return false;
  for (int round = 0; round < 2 * kRounds; ++round) {
    const Place& from = round % 2 == 0 ? *place : *peer;
    const Place& to = round % 2 == 0 ? *peer : *place;
    Step call = step;
    call.b = static_cast<std::uint32_t>(SendCall::send);
    send_same(from, sending_call(call, from.fd, kBytes));
    drain_all(to);
  }
  return true;
}

bool Stage::send(const Step& step, bool is_more) {
  const std::optional<Place> place = place_of(step, step.c);
  const std::uint64_t length = length_of(step.a);
  const std::uint64_t rest = is_more ? 1 + length / 2 : 0;
  if (!place || !has_room(*place, length + rest)) return false;
  // Bytes that are held back do not make a closed peer answer.
  if (is_more && is_over(*place)) return false;
  Command command = sending_call(step, place->fd, length);
  if (is_more && !takes_flags(static_cast<SendCall>(command.variant)))
    command.variant = static_cast<std::uint32_t>(SendCall::send);
  if (takes_flags(static_cast<SendCall>(command.variant))) {
    if (step.b / 64 % 4 == 0) command.flags |= MSG_DONTWAIT;
    if (step.b / 256 % 4 == 0) command.flags |= MSG_NOSIGNAL;
    if (is_more) command.flags |= MSG_MORE;
  }
  send_same(*place, command);
  if (!is_more) return true;
  command.length = static_cast<std::int64_t>(rest);
  command.flags &= ~MSG_MORE;
  send_same(*place, command);
  return true;
}

// A receive that might wait for ever becomes one that does not wait.
bool Stage::recv(const Step& step, int flags) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place) return false;
  Command command = {};
  command.op = Op::recv;
  command.variant = step.b % static_cast<std::uint32_t>(RecvCall::count);
  command.fd = place->fd;
  command.length = static_cast<std::int64_t>(received_length_of(step.a, stream_to(*place).due_at_least()));
  command.parts = 1 + step.b / 16 % 3;
  command.flags = flags;
  auto kind = static_cast<RecvCall>(command.variant);
  const auto wanted = static_cast<std::uint64_t>(command.length);
  const bool has_flags = takes_flags(kind);
  const bool waits_for_all = has_flags && kind != RecvCall::recvmmsg && step.b / 256 % 8 == 0;
  const bool returns = will_receive(*place, waits_for_all ? wanted : std::min<std::uint64_t>(wanted, 1));
  const bool may_wait = returns || end_at(*place).is_nonblocking;
  if ((!may_wait || flags != 0) && !has_flags) {
    kind = RecvCall::recv;
    command.variant = static_cast<std::uint32_t>(kind);
  }
  if (takes_flags(kind)) {
    if (waits_for_all) command.flags |= MSG_WAITALL;
    if (!may_wait || step.b / 64 % 4 == 0) command.flags |= MSG_DONTWAIT;
    if (step.b / 2048 % 32 == 0) command.flags |= MSG_TRUNC;
    if (kind == RecvCall::recvmmsg) command.flags |= MSG_WAITFORONE;
  }
  const Answers answers =
      both_.receive_same(place->process, receiving(*place, command),
                         !stream_to(*place).is_urgent && !(kind == RecvCall::recvmmsg && flags != 0));
  if (flags == 0) note_received(*place, answers);
  return true;
}

// Sends more than a connection holds, by a waiting call while the peer reads; sometimes both ways at once.
bool Stage::transfer(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place || !can_move(*place) || end_at(*place).is_nonblocking) return false;
  const std::optional<Place> peer = peer_of(*place);
  if (step.a % 4 == 0) drain_all(*peer);
  const bool is_duplex =
      step.a / 4 % 3 == 0 && peer->process != place->process && !end_at(*peer).is_nonblocking;
  const std::int64_t length = start_sending(step, *place);
  const std::int64_t back = is_duplex ? start_sending(step, *peer) : 0;
  drain_all(*peer);
  if (is_duplex) drain_all(*place);
  join_sending(*place, length);
  if (is_duplex) join_sending(*peer, back);
  return true;
}

std::int64_t Stage::start_sending(const Step& step, const Place& place) {
  Command command = sending_call(step, place.fd, 4000 + step.a % 120000);
  // Partial sends would cut its messages short.
  if (static_cast<SendCall>(command.variant) == SendCall::sendmmsg) command.parts = 1;
  command.op = Op::start;
  command.inner = Op::send;
  both_.call_same(place.process, sending(place, command));
  for (std::uint64_t& sent : stream_from(place).sent) sent += static_cast<std::uint64_t>(command.length);
  return command.length;
}

void Stage::join_sending(const Place& place, std::int64_t length) {
  Command join = {};
  join.op = Op::join;
  join.timeout_ms = kJoinMs;
  const Answers answers = both_.call_same(place.process, join);
  if (answers[0].bytes != length)
    both_.differ("a send that waits sent less", place.process, Both::same(join), answers);
}

// The worlds may take different amounts. Both must become full, and deliver all.
bool Stage::fill(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place || !can_move(*place)) return false;
  const std::optional<Place> peer = peer_of(*place);
  Command command = {};
  command.op = Op::fill;
  command.fd = place->fd;
  command.length = kFillBytesMax;
  Command writable = {};
  writable.op = Op::poll;
  writable.variant = step.b % static_cast<std::uint32_t>(PollCall::count);
  writable.watched_count = 1;
  writable.watched[0] = {place->fd, POLLOUT};
  // The kernel may make room later by itself.
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    const Answers answers = both_.call(place->process, sending(*place, command));
    for (const Answer& answer : answers)
      if (answer.error != EAGAIN)
        both_.differ("a connection that is not read from does not become full", place->process,
                     Both::same(command), answers);
    note_sent(*place, answers);
    const Answers full = both_.call(place->process, writable);
    if (full[0].result == 0 && full[1].result == 0) break;
  }
  both_.ask_same(place->process, writable);
  drain_all(*peer);
  writable.timeout_ms = kArrivalMs;
  both_.ask_same(place->process, writable);
  // From here on the worlds' counts agree again.
  Stream& stream = stream_from(*place);
  stream.sent.fill(std::max(stream.sent[0], stream.sent[1]));
  stream.received = stream.sent;
  return true;
}

bool Stage::send_file(const Step& step, Op op) {
  const std::optional<Place> place = place_of(step, step.c);
  const std::uint64_t length = length_of(step.a);
  if (!place || !has_room(*place, length)) return false;
  Command command = {};
  command.op = op;
  command.fd = place->fd;
  command.length = static_cast<std::int64_t>(length);
  command.parts = 1 + step.b % 2;
  send_same(*place, command);
  return true;
}

bool Stage::splice_out(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place) return false;
  if (!will_receive(*place, 1) && !end_at(*place).is_nonblocking) return false;
  Command command = {};
  command.op = Op::splice_out;
  command.fd = place->fd;
  command.length = static_cast<std::int64_t>(received_length_of(step.a, stream_to(*place).due_at_least()));
  // Beyond an urgent byte, the rest of a short splice would be other bytes.
  if (stream_to(*place).is_urgent) return false;
  note_received(*place, both_.receive_same(place->process, receiving(*place, command), true));
  return true;
}

bool Stage::stdio_write(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  const std::uint64_t length = 1 + length_of(step.a);
  // After an error a stdio stream may have sent a part, which differs by implementation.
  if (!place || !can_move(*place) || !has_room(*place, length)) return false;
  Command command = {};
  command.op = Op::stdio_write;
  command.variant = step.b % 2;
  command.fd = place->fd;
  command.length = static_cast<std::int64_t>(length);
  send_same(*place, command);
  return true;
}

// Reads exactly the due bytes, because a stream reads ahead.
bool Stage::stdio_read(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place || !can_move(*place) || end_at(*place).is_nonblocking) return false;
  const Stream& stream = stream_to(*place);
  if (stream.due_at_least() == 0 || stream.due_at_least() != stream.due_at_most()) return false;
  Command command = {};
  command.op = Op::stdio_read;
  command.variant = step.b % 2;
  command.fd = place->fd;
  command.length = static_cast<std::int64_t>(stream.due_at_least());
  note_received(*place, both_.call_same(place->process, receiving(*place, command)));
  return true;
}

bool Stage::urgent_send(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  const std::uint64_t length = 1 + step.a % 10;
  if (!place || !has_room(*place, length)) return false;
  Command command = sending_call(step, place->fd, length);
  if (!takes_flags(static_cast<SendCall>(command.variant)) ||
      static_cast<SendCall>(command.variant) == SendCall::sendmmsg)
    command.variant = static_cast<std::uint32_t>(SendCall::send);
  command.parts = 1;
  command.flags = MSG_OOB;
  stream_from(*place).is_urgent = true;
  const std::optional<Place> peer = peer_of(*place);
  if (peer && step.b % 2 == 0) {
    Command owner = {};
    owner.op = Op::own;
    owner.fd = peer->fd;
    both_.call_same(peer->process, owner);
  }
  const std::uint64_t before = stream_from(*place).sent[0];
  send_same(*place, command);
  const bool is_sent = stream_from(*place).sent[0] != before;
  if (!peer || !is_sent || connection_at(*place).is_reset) return true;
  both_.settle(peer->process, peer->fd, POLLPRI | POLLHUP, kArrivalMs);
  for (std::size_t process = 0; process < kProcesses; ++process) {
    if (!model_.processes[process].is_alive) continue;
    Command signals = {};
    signals.op = Op::signals;
    both_.ask_same(process, signals);
  }
  return true;
}

bool Stage::urgent_recv(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place) return false;
  Command command = {};
  command.op = Op::recv;
  command.variant = static_cast<std::uint32_t>(step.b % 2 == 0 ? RecvCall::recv : RecvCall::recvmsg);
  command.fd = place->fd;
  command.length = 1 + step.a % 4;
  command.flags = MSG_OOB | MSG_DONTWAIT | (step.b / 2 % 4 == 0 ? MSG_PEEK : 0);
  Answers answers = both_.call(place->process, receiving(*place, command));
  for (Answer& answer : answers) answer.first_wrong = -1;  // the urgent byte's position is unknown
  both_.require_same(place->process, Both::same(command), answers);
  return true;
}

bool Stage::bad(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  if (!place || connection_at(*place).is_reset) return false;
  Command command = {};
  command.fd = place->fd;
  command.bad_pointer = 1;
  const bool is_send = step.a % 2 == 0;
  command.op = is_send ? Op::send : Op::recv;
  command.variant = step.b % (is_send ? static_cast<std::uint32_t>(SendCall::count)
                                      : static_cast<std::uint32_t>(RecvCall::count));
  // recvmmsg keeps an error for the next call.
  if (!is_send && static_cast<RecvCall>(command.variant) == RecvCall::recvmmsg) command.variant = 0;
  command.length = 1 + step.a / 8 % 5000;
  switch (step.a / 2 % 3) {
    case 0: command.fd = 500 + static_cast<int>(step.a % 50); break;
    case 1: command.length = step.a / 8 % 2 == 0 ? -1 : SSIZE_MAX; [[fallthrough]];
    default:
      if (is_send ? !is_quiet(*place) || !can_move(*place) || !has_room(*place, kRoomBytes / 2)
                  : stream_to(*place).is_urgent || stream_to(*place).due_at_least() == 0)
        return false;
      if (!will_receive(*place, 1) && !is_send) return false;
  }
  both_.call_same(place->process, command);
  return true;
}

// Removing the cork sends the bytes that were held back.
bool Stage::cork(const Step& step) {
  const std::optional<Place> place = place_of(step, step.c);
  const std::uint64_t length = 1 + length_of(step.a) / 2;
  if (!place || !can_move(*place) || !has_room(*place, 2 * length)) return false;
  Command option = {};
  option.op = Op::set_option;
  option.fd = place->fd;
  option.level = IPPROTO_TCP;
  option.name = TCP_CORK;
  option.value = 1;
  both_.call_same(place->process, option);
  send_same(*place, sending_call(step, place->fd, length));
  send_same(*place, sending_call(step, place->fd, length));
  option.value = 0;
  both_.call_same(place->process, option);
  option.op = Op::get_option;
  both_.call_same(place->process, option);
  return true;
}

}  // namespace twin
