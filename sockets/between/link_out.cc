// Frames to the peer: what the program has stored in the outgoing direction, and what the peer waits for in
// the incoming one.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "sockets/between/pump.h"

namespace exs::sockets::between {
namespace {

// Up to this many bytes are copied behind their frame; more are sent from the ring itself.
constexpr std::size_t kCopiedMax = 1024;
constexpr std::size_t kPieceMax = std::size_t{64} << 10;
// Two of these pieces may be in progress.
constexpr std::uint32_t kSendsMax = 4;

// The order of the loads keeps a word from overtaking an earlier one. A stretch begins after the previous one
// has been passed, and this thread reports that to the program.
HostFrame read_words(const HostLink& link) noexcept {
  const Direction& out = link.outgoing();
  const Direction& in = link.incoming();
  HostFrame frame{};
  frame.magic = kFrameMagic;
  frame.final = out.final.load();
  frame.epoch = out.epoch.load();
  frame.turn = out.turn.load();
  frame.position = out.written.load();
  frame.start = out.start.load();
  frame.mark = out.mark.load();
  frame.consumed = in.consumed.load();
  frame.passed = in.passed.load();
  // An end that may still give up does not report that it is ready.
  const bool is_ready = in.ready.load() != 0 && link.state.load() == State::kRuns;
  frame.flags = (is_ready ? kReady : 0) | (in.closed.load() != 0 ? kClosed : 0) |
                (link.finish_wanted.load() ? kFinish : 0) | (in.final.load() != 0 ? kHasFinal : 0);
  frame.turned = link.pump.turned;
  frame.bells = link.pump.bells;
  return frame;
}

// Selects what to report now: at most a piece of the ring, and a turn only behind its last byte.
void choose_bytes(const HostLink& link, HostFrame& frame) noexcept {
  const HostFrame& told = link.pump.told;
  const std::uint64_t written = frame.position;
  const std::uint64_t turn = frame.turn;
  const bool is_past_turn = frame.epoch == told.epoch && (told.turn != lane::kNoTurn || told.epoch == 0);
  frame.position = link.pump.sent;
  const std::uint64_t unsent = is_past_turn ? 0 : written - link.pump.sent;
  const std::uint64_t place = (frame.position - frame.start) & (link.capacity - 1);
  frame.bytes =
      static_cast<std::uint32_t>(std::min<std::uint64_t>({unsent, link.capacity - place, kPieceMax}));
  if (is_past_turn) {
    frame.turn = told.turn;
    frame.mark = told.mark;
    frame.start = told.start;
  } else if (turn != frame.position + frame.bytes) {
    frame.turn = lane::kNoTurn;
  }
}

bool is_news(const HostLink& link, const HostFrame& frame) noexcept {
  const HostFrame& told = link.pump.told;
  constexpr unsigned kParts = 4;  // a part of the ring: so much room is worth a frame
  return frame.bytes > 0 || link.pump.answers || frame.epoch != told.epoch || frame.turn != told.turn ||
         frame.final != told.final || frame.passed != told.passed || frame.turned != told.turned ||
         frame.bells != told.bells || frame.flags != told.flags ||
         frame.consumed - told.consumed >= link.capacity / kParts;
}

bool post(HostLink& link, const void* bytes, std::size_t count, exs_mhandle_t region) noexcept {
  HostLink::Pump& pump = link.pump;
  if (library().exs_send(pump.socket, bytes, count, 0, queue(), handle_of(link, Op::kSend), region) != 0) {
    break_off(link, false);
    return false;
  }
  ++pump.sends;
  return true;
}

bool post_frame(HostLink& link, const HostFrame& frame) noexcept {
  const std::byte* const bytes =
      link.outgoing_ring() + ((frame.position - frame.start) & (link.capacity - 1));
  if (frame.bytes > kCopiedMax)
    return post(link, &frame, sizeof frame, EXS_MHANDLE_UNREGISTERED) &&
           post(link, bytes, frame.bytes, link.pump.region);
  std::byte message[sizeof frame + kCopiedMax];
  std::memcpy(message, &frame, sizeof frame);
  std::memcpy(message + sizeof frame, bytes, frame.bytes);
  return post(link, message, sizeof frame + frame.bytes, EXS_MHANDLE_UNREGISTERED);
}

// False: there is nothing to report.
bool make_frame(const HostLink& link, HostFrame& frame) noexcept {
  frame = read_words(link);
  choose_bytes(link, frame);
  return is_news(link, frame);
}

}  // namespace

bool send_hello(HostLink& link) noexcept {
  HostHello& hello = link.pump.hello;
  hello = {kHelloMagic, link.token, link.capacity, link.bell, 0};
  return post(link, &hello, sizeof hello, EXS_MHANDLE_UNREGISTERED);
}

void begin_stream(HostLink& link) noexcept {
  HostLink::Pump& pump = link.pump;
  pump.region = library().exs_mregister(link.segment, Segment::bytes(link.capacity), 0);
  if (pump.region < 0) return fail(link, Fault::kMemory);
  pump.told = {};
  pump.told.turn = lane::kNoTurn;
  pump.answers = true;
  if (await_frame(link)) send_news(link);
}

void send_news(HostLink& link) noexcept {
  HostLink::Pump& pump = link.pump;
  for (;;) {
    HostFrame frame;
    while (!pump.broken && pump.sends < kSendsMax && make_frame(link, frame)) {
      if (!post_frame(link, frame)) return;
      pump.sent += frame.bytes;
      pump.told = frame;
      pump.answers = false;
      link.told_consumed.store(frame.consumed);
    }
    if (pump.broken || pump.sends >= kSendsMax) return;  // the completion of a send comes back here
    // Later stores of the program wake the pump.
    if ((link.outgoing().sleep.fetch_or(lane::kArmed) & lane::kArmed) != 0 || !make_frame(link, frame))
      return;
  }
}

bool is_sent(const HostLink& link) noexcept {
  const Direction& out = link.outgoing();
  return link.turned.load() == out.epoch.load();
}

}  // namespace exs::sockets::between
