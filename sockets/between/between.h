// The lane between hosts, as the rest of the layer sees it. Thread: any, also in a signal handler; call() and
// answer() not in one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/between/link.h"

namespace exs::sockets::between {

// This host has an RDMA device.
bool has_device() noexcept;
// An agent runs on this host.
bool has_agent() noexcept;

// The calling end asks the agent of the peer's host. Null: `fault` has the cause.
HostLink* call(int number, std::uint32_t slot, const Place16& own, const Place16& peer,
               std::uint16_t agent_port, Fault& fault) noexcept;
// The called end has read an invitation.
HostLink* answer(int number, std::uint32_t slot, const HostInvitation& invitation, Segment& segment,
                 std::size_t capacity, std::uint8_t bell, Fault& fault) noexcept;
// The calling end has a segment of the capacity that the peer asked for (State::kMet).
void join(HostLink& link) noexcept;

// Makes the pump look at what the program has stored.
void wake(HostLink& link) noexcept;
// The program has taken bytes, passed a stretch, or become ready.
void note_received(HostLink& link) noexcept;

// Waits until TCP may carry the next byte: the peer has our stretch to its end, and all bells have been rung.
// Positive: so it is; 0: time is over. -1: the stream broke, and bytes may be lost. -2: the peer has ended
// its sending and does not answer. A negative limit waits as long as the stream lives.
int await_turn(HostLink& link, int limit_ms) noexcept;
// TCP reported an end. Waits until the segment has all bytes of the stream. False: the peer goes on.
bool await_over(HostLink& link, int limit_ms) noexcept;
// Waits until the outgoing ring has room, the peer has left, or time is over.
void await_room(HostLink& link, std::uint64_t consumed, int limit_ms) noexcept;
// Turns both directions to TCP for good. True: the segment has all that the peer sent by the stream.
bool end_both(HostLink& link, int limit_ms) noexcept;

// The program gives the link up. The pump sends the rest, then closes its own descriptor of the connection.
void release(HostLink& link, std::uint32_t bells_awaited) noexcept;
// Waits before the process ends, until the rest of the released links has been sent.
void await_released(int limit_ms) noexcept;

// A forked child has no pump; the parent ended its lanes before the fork.
void forget_in_child() noexcept;

}  // namespace exs::sockets::between
