// Frames of a peer's host on a lane between hosts (sockets/between/link_in.cc): they are stored into the segment as far as they are right.
// The pump around it is this file's.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include <cstring>
#include <new>

#include "sockets/between/program_side.h"
#include "sockets/between/pump.h"
#include "tests/fuzz/fuzz.h"

namespace exs::fuzz::sockets_between {

using namespace exs::sockets::between;
using exs::sockets::Segment;

constexpr std::size_t kCapacity = 4096;

struct Posted {
  std::byte* place = nullptr;
  std::size_t bytes = 0;
};
Posted g_posted;
bool g_is_over = false;

int note_receive(int, void* place, std::size_t bytes, int, exs_qhandle_t, exs_ahandle_t, exs_mhandle_t) {
  g_posted = {static_cast<std::byte*>(place), bytes};
  return 0;
}

// The segment between pages that forbid any access.
class GuardedSegment {
 public:
  GuardedSegment() {
    constexpr std::size_t kGuard = 4096, kBytes = Segment::bytes(kCapacity);
    auto* const all = static_cast<std::byte*>(
        ::mmap(nullptr, kBytes + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    hold(all != MAP_FAILED && ::mprotect(all + kGuard, kBytes, PROT_READ | PROT_WRITE) == 0, "memory");
    start_ = all + kGuard;
  }
  Segment& made_anew() const {
    std::memset(start_, 0, Segment::bytes(kCapacity));
    auto* const segment = ::new (start_) Segment;
    segment->capacity = kCapacity;
    segment->from_called.turn.store(exs::lane::kNoTurn);
    segment->from_caller.turn.store(exs::lane::kNoTurn);
    return *segment;
  }

 private:
  std::byte* start_ = nullptr;
};

struct World {
  World(Input& dice, Segment& segment) : input(dice) {
    g_is_over = false;
    link.state.store(State::kRuns);
    link.is_caller = input.one_in(2);
    link.descriptor = -1;
    link.segment = &segment;
    link.capacity = kCapacity;
    link.pump.told.turn = exs::lane::kNoTurn;
    hold(await_frame(link), "the first frame is awaited");
  }

  HostFrame any_frame() {
    const auto& in = link.incoming();
    const HostLink::Pump& pump = link.pump;
    HostFrame frame{};
    frame.magic = kFrameMagic;
    frame.epoch = in.epoch.load();
    const bool begins = pump.turned == frame.epoch && in.passed.load() == frame.epoch && input.one_in(2);
    if (begins) ++frame.epoch;
    frame.position = pump.received;
    frame.start = begins ? frame.position : in.start.load();
    frame.bytes = static_cast<std::uint32_t>(input.one_in(4) ? input.near(kCapacity) : input.below(600));
    frame.turn = input.one_in(3) ? frame.position + frame.bytes : exs::lane::kNoTurn;
    frame.mark = input.below(100);
    frame.final = input.one_in(8) ? 1 : in.final.load();
    frame.consumed = pump.peer_consumed + input.below(pump.sent - pump.peer_consumed + 1);
    frame.turned = input.one_in(2) ? link.turned.load() : pump.told.epoch;
    frame.passed = input.one_in(2) ? pump.peer_passed : frame.turned;
    frame.flags = static_cast<std::uint32_t>(input.below(16));
    frame.bells = pump.rung + static_cast<std::uint32_t>(input.below(3));
    if (input.one_in(3)) spoil(frame);
    return frame;
  }
  void spoil(HostFrame& frame) {
    const std::size_t at = input.below(sizeof frame / 4) * 4;
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<std::byte*>(&frame) + at, sizeof word);
    word = static_cast<std::uint32_t>(input.near(word));
    std::memcpy(reinterpret_cast<std::byte*>(&frame) + at, &word, sizeof word);
  }
  void hear() {
    const HostFrame frame = any_frame();
    hold(g_posted.bytes == sizeof frame, "a frame is awaited");
    std::memcpy(g_posted.place, &frame, sizeof frame);
    link.pump.receives = false;
    const std::byte* const frame_place = g_posted.place;
    take_frame(link);
    if (g_is_over || g_posted.place == frame_place) return;
    const std::byte* const ring = link.incoming_ring();
    hold(g_posted.bytes == frame.bytes && g_posted.place >= ring && g_posted.bytes <= kCapacity &&
             g_posted.place + g_posted.bytes <= ring + kCapacity,
         "bytes of the peer go into the ring");
    std::memset(g_posted.place, 0x77, g_posted.bytes);
    link.pump.receives = false;
    take_data(link);
  }
  // As a program does that keeps to the rules.
  void read() {
    auto& in = link.incoming();
    const std::uint64_t unread = in.written.load() - in.consumed.load();
    in.consumed.store(in.consumed.load() + (input.one_in(2) ? unread : input.below(unread + 1)));
    if (in.turn.load() == in.consumed.load() && in.epoch.load() != in.passed.load())
      in.passed.store(in.epoch.load());
  }
  void send() {
    HostLink::Pump& pump = link.pump;
    pump.sent += input.below(kCapacity - (pump.sent - pump.peer_consumed) + 1);
    if (pump.told.epoch == link.turned.load()) ++pump.told.epoch;
    if (input.one_in(3)) pump.told.turn = pump.sent;
    if (input.one_in(8)) pump.told.final = 1;
  }
  void check() const {
    const auto& in = link.incoming();
    hold(in.written.load() - in.consumed.load() <= kCapacity, "no more than the ring holds");
    hold(link.outgoing().consumed.load() <= link.pump.sent, "no more is consumed than was sent");
  }

  Input& input;
  HostLink link{};
};

}  // namespace exs::fuzz::sockets_between

// What link_in.cc calls of the pump.
namespace exs::sockets::between {

namespace target = exs::fuzz::sockets_between;

const LoadedLibrary& library() noexcept {
  static const LoadedLibrary fake = [] {
    LoadedLibrary made{};
    made.exs_recv = &target::note_receive;
    return made;
  }();
  return fake;
}
exs_qhandle_t queue() noexcept {
  return exs_qhandle_t{};
}
void* handle_of(HostLink& link, Op) noexcept {
  return &link;
}
void tell(HostLink&) noexcept {}
void reset_program(const HostLink&, const char*) noexcept {}
void break_off(HostLink&, bool) noexcept {
  target::g_is_over = true;
}

}  // namespace exs::sockets::between

EXS_FUZZ_TARGET(sockets_between) {
  using namespace exs::fuzz::sockets_between;
  static const GuardedSegment memory;
  World world(input, memory.made_anew());
  for (int steps = 0; steps < 200 && !input.has_ended() && !g_is_over; ++steps) {
    switch (input.below(4)) {
      case 0: world.read(); break;
      case 1: world.send(); break;
      default: world.hear(); break;
    }
    world.check();
  }
}
