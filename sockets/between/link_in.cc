// Frames from the peer, stored into the segment as the peer itself would.
// SPDX-License-Identifier: BSD-2-Clause
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/check.h"
#include "sockets/between/program_side.h"
#include "sockets/between/pump.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/spin.h"

namespace exs::sockets::between {
namespace {

// The bells that a peer may ask for at a time: one for each frame of bytes that we have not reported yet.
constexpr std::uint32_t kBellsMax = 4096;

HostFrame& frame_place(const HostLink& link) noexcept {
  // Behind the words, in memory that is already registered.
  constexpr std::size_t kPlace = 2048;
  static_assert(sizeof(Segment) <= kPlace && kPlace + sizeof(HostFrame) <= kHeaderBytes);
  return *reinterpret_cast<HostFrame*>(reinterpret_cast<std::byte*>(link.segment) + kPlace);
}

bool post(HostLink& link, void* place, std::size_t count, Op op) noexcept {
  HostLink::Pump& pump = link.pump;
  if (library().exs_recv(pump.socket, place, count, MSG_WAITALL, queue(), handle_of(link, op), pump.region) !=
      0) {
    break_off(link, op == Op::kData);
    return false;
  }
  EXS_CHECK(!pump.receives);  // one at a time: the frame lies in one place
  pump.receives = true;
  return true;
}

// Checks what the frame says of the outgoing direction.
bool is_right_answer(const HostLink& link, const HostFrame& frame) noexcept {
  const HostLink::Pump& pump = link.pump;
  return frame.consumed >= pump.peer_consumed && frame.consumed <= pump.sent &&
         frame.passed >= pump.peer_passed && frame.passed <= frame.turned &&
         frame.turned >= link.turned.load() && frame.turned <= pump.told.epoch &&
         frame.turned + 1 >= pump.told.epoch &&
         (frame.turned < pump.told.epoch || pump.told.turn != lane::kNoTurn || frame.turned == 0) &&
         frame.bells - pump.rung <= kBellsMax && (frame.flags & ~kFlags) == 0;
}
// Checks what the frame says of the incoming direction.
bool is_right_news(const HostLink& link, const HostFrame& frame) noexcept {
  const HostLink::Pump& pump = link.pump;
  const Direction& in = link.incoming();
  const std::uint32_t epoch = in.epoch.load();
  const bool begins = frame.epoch == epoch + 1;
  if (frame.epoch != epoch &&
      (!begins || pump.turned != epoch || in.passed.load() != epoch || in.final.load() != 0))
    return false;
  if (frame.final > 1 || frame.final < in.final.load() || frame.position != pump.received) return false;
  const bool is_open = begins || pump.turned < epoch;
  if (!is_open) return frame.bytes == 0;
  const std::uint64_t consumed = in.consumed.load();
  const std::uint64_t end = frame.position + frame.bytes;
  const std::uint64_t place = (frame.position - frame.start) & (link.capacity - 1);
  return (frame.start == in.start.load() || (frame.start == frame.position && frame.start == consumed)) &&
         end - consumed <= link.capacity && frame.bytes <= link.capacity - place &&
         (frame.turn == lane::kNoTurn || frame.turn == end);
}

void ring_bells(HostLink& link, std::uint32_t wanted) noexcept {
  constexpr int kLarge = 1 << 20;
  constexpr int kSmall = 8 * 1024;
  constexpr int kTries = 1000;
  bool enlarged = false;
  int tries = kTries;  // for all bells together, because other connections wait meanwhile
  for (; link.pump.rung != wanted; ++link.pump.rung) {
    long sent = -EAGAIN;
    for (; tries > 0 && sent == -EAGAIN; --tries) {
      sent = raw::sys(SYS_sendto, link.descriptor, &link.bell, 1, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
      if (sent != -EAGAIN) break;
      // Unread bytes of an earlier overflow fill the small buffer.
      if (!enlarged)
        raw::sys(SYS_setsockopt, link.descriptor, SOL_SOCKET, SO_SNDBUF, &kLarge, sizeof kLarge);
      else
        sleep_1ms();
      enlarged = true;
    }
    if (sent != -EAGAIN) continue;
    reset_program(link, "the kernel took no byte of it for a second");
    link.pump.rung = wanted;
    break;
  }
  if (enlarged) raw::sys(SYS_setsockopt, link.descriptor, SOL_SOCKET, SO_SNDBUF, &kSmall, sizeof kSmall);
}

void store_answer(HostLink& link, const HostFrame& frame) noexcept {
  HostLink::Pump& pump = link.pump;
  Direction& out = link.outgoing();
  if (link.descriptor >= 0) ring_bells(link, frame.bells);
  if ((frame.flags & kHasFinal) != 0 && pump.told.final != 0) link.has_final.store(true);
  if ((frame.flags & kFinish) != 0 && out.final.load() == 0) pump.finishes = true;
  pump.peer_consumed = frame.consumed;
  pump.peer_passed = frame.passed;
  out.consumed.store(frame.consumed);
  link.turned.store(frame.turned);
  out.passed.store(frame.passed);
  if ((frame.flags & kClosed) != 0) out.closed.store(1);
  if ((frame.flags & kReady) != 0) out.ready.store(1);
}

void store_news(HostLink& link, const HostFrame& frame) noexcept {
  HostLink::Pump& pump = link.pump;
  Direction& in = link.incoming();
  if (frame.epoch != in.epoch.load()) {
    in.mark.store(frame.mark);
    in.turn.store(lane::kNoTurn);
    in.epoch.store(frame.epoch);
  }
  const bool is_open = pump.turned < frame.epoch;
  if (is_open) in.start.store(frame.start);
  if (frame.bytes > 0) {
    pump.received += frame.bytes;
    in.written.store(pump.received);
    // One atomic step, as in lane/sender.h. Only the TCP connection's other end can ring the bell, so the
    // peer must.
    const std::uint32_t before = in.sleep.update([](std::uint32_t sleep) {
      return (sleep & lane::kArmed) != 0 ? sleep - lane::kArmed + lane::kBell : sleep;
    });
    if ((before & lane::kArmed) != 0) ++pump.bells;
  }
  if (is_open && frame.turn != lane::kNoTurn) {
    in.turn.store(frame.turn);
    pump.turned = frame.epoch;
  }
  if (frame.final != 0) in.final.store(1);
}

// The frame is complete, with its bytes.
void store(HostLink& link, const HostFrame& frame) noexcept {
  State settles = State::kSettles;
  link.state.compare_exchange_strong(settles, State::kRuns);
  if (link.state.load() != State::kRuns) return;  // the program has given up
  store_answer(link, frame);
  store_news(link, frame);
  tell(link);
  await_frame(link);
}

}  // namespace

bool await_frame(HostLink& link) noexcept {
  return post(link, &frame_place(link), sizeof(HostFrame), Op::kFrame);
}

void take_frame(HostLink& link) noexcept {
  HostLink::Pump& pump = link.pump;
  pump.frame = frame_place(link);
  const HostFrame& frame = pump.frame;
  if (frame.magic != kFrameMagic || !is_right_answer(link, frame) || !is_right_news(link, frame)) {
    reset_program(link, "the peer's host sent what the lane between hosts does not know");
    return break_off(link, true);
  }
  if (frame.bytes == 0) return store(link, frame);
  pump.data_left = frame.bytes;
  std::byte* const place = link.incoming_ring() + ((frame.position - frame.start) & (link.capacity - 1));
  post(link, place, frame.bytes, Op::kData);
}

void take_data(HostLink& link) noexcept {
  link.pump.data_left = 0;
  store(link, link.pump.frame);
}

void close_incoming(HostLink& link) noexcept {
  Direction& in = link.incoming();
  if (in.epoch.load() != link.pump.turned) {
    in.turn.store(in.written.load());
    link.pump.turned = in.epoch.load();
  }
  in.final.store(1);
}

}  // namespace exs::sockets::between
