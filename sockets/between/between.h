// The lane between hosts, as the rest of the layer sees it. Thread: any; in a signal handler, too, but for call() and answer().
#pragma once

#include <cstdint>

#include "sockets/between/link.h"

namespace exs::sockets::between {

// What the pump needs of the program's side of a connection.
struct Program {
  // Ends what the program sends by the ring, for good. False: the slot is busy now.
  bool (*finish_sending)(std::uint32_t slot, Segment& segment, int descriptor);
  void (*reset)(std::uint32_t slot, int descriptor, const char* cause);
  bool any_path;  // for tests: streams by exs's iwarp provider, over TCP
  // The process ends: its connections say goodbye.
  void (*leave)();
};
void set_program(const Program& program) noexcept;

// The place of a call is inside libexs, whose connections are no concern of the layer.
bool is_in_library(const void* place) noexcept;
// An RDMA device is in this host.
bool has_device() noexcept;
// An agent runs here.
bool has_agent() noexcept;

// The calling end asks the agent of the peer's host. Null: `fault` says why.
Link* call(int number, std::uint32_t slot, const Place16& own, const Place16& peer, std::uint16_t agent_port,
           Fault& fault) noexcept;
// The called end has read an invitation.
Link* answer(int number, std::uint32_t slot, const Invitation& invitation, Segment& segment,
             std::size_t capacity, std::uint8_t bell, Fault& fault) noexcept;
// The calling end has given it a segment of the capacity that the peer asked for (State::kMet).
void join(Link& link) noexcept;

// The pump looks at what the program has stored.
void wake(Link& link) noexcept;
// The program has taken bytes, passed a stretch, or become ready.
void note_received(Link& link) noexcept;

// Whether TCP may have the next byte: the peer has our stretch to its end, and all bells are rung. Waits for that for at most so
// long; a negative number: for as long as the stream lives. -1: the stream broke, and bytes may be lost; -2: the
// peer has ended its sending and does not answer.
int await_turn(Link& link, int limit_ms) noexcept;
// TCP told of an end. Waits until what has come by the stream is in the segment; false: the peer goes on.
bool await_over(Link& link, int limit_ms) noexcept;
// The outgoing ring has room, or the peer has left, or the time is over.
void await_room(Link& link, std::uint64_t consumed, int limit_ms) noexcept;
// Both ways go by TCP from now on, for good, and all that the peer sent by the stream is in the segment.
bool end_both(Link& link, int limit_ms) noexcept;

// The program has it no more. The pump sends on what it has, then closes its own descriptor of the connection.
void release(Link& link, std::uint32_t bells_awaited) noexcept;
// Before the process ends: until what was released has been sent.
void await_released(int limit_ms) noexcept;

// In the child of a fork there is no pump; the parent has ended its lanes before.
void forget_in_child() noexcept;

}  // namespace exs::sockets::between
