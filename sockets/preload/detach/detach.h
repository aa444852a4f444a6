// Detaching: the connection goes back to TCP, as if the layer had never been there. This serves whatever the
// layer does not follow. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/preload/table/segment.h"
#include "sockets/preload/table/slot.h"

namespace exs::sockets {

// Both directions go by TCP from now on, for good. The unread bytes of the ring move to TCP within 100 ms;
// else the connection is reset, with a log line.
void detach(int number, Why why) noexcept;
// Accepts any open number of the slot's connection.
void detach_slot(int number, std::uint32_t slot, Why why) noexcept;
// Without haste: this process receives the unread bytes from the ring, before TCP.
void detach_later(int number, Why why) noexcept;
// Sends the unread bytes by TCP now. False: the peer has shut down, or the kernel does not lend its socket;
// nothing has changed.
bool detach_now(int number, std::uint32_t slot, Why why) noexcept;
// Returns whether receives may use TCP now. The caller holds the lock for receiving.
bool finish_leaving(int number, std::uint32_t slot) noexcept;
// Detaches for a program that replaces this one or runs as its child. True: that program must take over the
// unread bytes.
bool detach_with_unread(int number, std::uint32_t slot, Why why) noexcept;
// After a receive that found nothing: the peer may have woken us because it leaves the ring. Sends by TCP
// what the peer has not read.
void serve_leaver(int number, std::uint32_t slot) noexcept;
void detach_all(Why why) noexcept;
// The program needs the memory of rings. Connections leave them while `must_go_on`, if they can do so at once.
// Returns whether some have.
bool give_rings_back(bool (*must_go_on)()) noexcept;
// Later bytes go by TCP, behind the bytes in the ring.
void detach_sending(int number, Why why) noexcept;
// Like detach_sending(), before the program shuts its sending down.
void end_sending(int number) noexcept;
// The peer's host asks for the end of sending. False: the connection is busy now.
bool finish_sending_afar(std::uint32_t slot, Segment& segment, int descriptor) noexcept;
void reset_afar(std::uint32_t slot, int descriptor, const char* cause) noexcept;
// Before a fork: a connection of two processes cannot keep a lane between hosts.
void end_lanes_between_hosts() noexcept;
// The next send is urgent, which only TCP can carry. A connection outside the lane never enters it.
void prepare_urgent(int number, Why why) noexcept;
// The peer sends by TCP from now on.
void refuse_bytes(int number) noexcept;
// The kernel is about to close the last number of the connection. Takes the bells out of TCP and tells the
// peer.
void say_goodbye(int number, std::uint32_t slot) noexcept;

}  // namespace exs::sockets
