// TCP is the way out of the lane: for what the layer does not follow, it leaves a connection as if it had never been there.
// Thread: any.
#pragma once

#include <cstdint>

#include "sockets/preload/segment.h"
#include "sockets/preload/slot.h"

namespace exs::sockets {

// Both directions go by TCP from now on, for good. What lies unread in the ring is sent by TCP if the peer runs within
// 100 ms; else the connection is reset, with a log line.
void detach(int number, Why why) noexcept;
// By any number that is open for the slot's connection.
void detach_slot(int number, std::uint32_t slot, Why why) noexcept;
// The same for what is in no hurry: what is unread is received from the ring, by this process, before TCP.
void detach_later(int number, Why why) noexcept;
// What is unread goes to TCP now. False: it cannot, as the peer has shut down or the kernel does not lend us its socket; nothing else
// is done.
bool detach_now(int number, std::uint32_t slot, Why why) noexcept;
// With the lock for receiving held: whether receives may go to TCP now.
bool finish_leaving(int number, std::uint32_t slot) noexcept;
// The same for a program that will run in place of this one, or as its child, and takes over: whether it has to.
bool detach_with_unread(int number, std::uint32_t slot, Why why) noexcept;
// A receive has found nothing: perhaps the peer has woken us because it leaves the ring, and takes what it has not read by TCP.
void serve_leaver(int number, std::uint32_t slot) noexcept;
void detach_all(Why why) noexcept;
// What is sent from now on goes by TCP, behind what lies in the ring.
void detach_sending(int number, Why why) noexcept;
// The same, before the program shuts this way down.
void end_sending(int number) noexcept;
// The same for a peer's host that asks for it: false: the connection is busy now.
bool finish_sending_afar(std::uint32_t slot, Segment& segment, int descriptor) noexcept;
void reset_afar(std::uint32_t slot, int descriptor, const char* cause) noexcept;
// Before a fork: connections of two processes go by TCP.
void end_lanes_between_hosts() noexcept;
// What is sent next is urgent, which is TCP's; a connection that is not in the lane yet never will be.
void prepare_urgent(int number, Why why) noexcept;
// The peer sends by TCP from now on.
void refuse_bytes(int number) noexcept;
// Nobody has the connection any more when the kernel has closed this number: no bell is left in it, and the peer is told.
void say_goodbye(int number, std::uint32_t slot) noexcept;

}  // namespace exs::sockets
