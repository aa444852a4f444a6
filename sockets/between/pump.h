// The pump: the one thread that serves the lanes between hosts of this process. It begins with the first such
// connection and takes no signals.
//
// Design notes
// 1. The bytes of a connection lie in a segment, as with a peer on this host. The pump plays the peer: it
//    receives from the outgoing direction and sends into the incoming one. So the program follows the same
//    rules (lane/direction.h). Agents only bring ends together, and may be killed at any moment.
// 2. TCP and the stream do not know each other's order. A byte of TCP behind a turn, or TCP's end, must find
//    the stretch before it at the peer. So a program that sends by TCP after a turn, or closes, waits until
//    the peer's pump has reported the turn (HostFrame::turned). All bells, which the peer asks for
//    (HostFrame::bells), have been rung by then.
// 3. The pump takes no lock that a thread of the program may hold while it waits for the pump.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>

#include "sockets/between/library.h"
#include "sockets/between/link.h"

namespace exs::sockets::between {

// Returns a free link, or null if all are used. The caller owns it and sets its state.
HostLink* take_link() noexcept;
// The links that were ever taken; the memory of the others is untouched.
std::span<HostLink> taken_links() noexcept;

// False: the pump cannot run; `fault` has the cause.
bool start_pump(Fault& fault) noexcept;
// Puts an event of the link into the pump's queue.
void post_wake(HostLink& link) noexcept;
void forget_pump() noexcept;
// Starts a detached thread that takes no signals.
bool start_thread(void* (*body)(void*)) noexcept;

// --- for the pump's parts, in its thread ---
const LoadedLibrary& library() noexcept;
exs_qhandle_t queue() noexcept;
std::uint64_t now_ns() noexcept;

// The kind of a link's event, in the lowest bits of its handle.
enum class Op : std::uintptr_t { kWake, kConnect, kHello, kFrame, kData, kSend, kClose };
void* handle_of(HostLink& link, Op op) noexcept;

// Opens a stream socket for RDMA devices only.
class SocketName;
int open_stream(const SocketName& name) noexcept;

// Notifies the waiters for news of the link.
void tell(HostLink& link) noexcept;
bool is_tcp_established(int descriptor) noexcept;
// link_life.cc. True: look at the link again soon.
bool look_at(HostLink& link) noexcept;
void take_link_event(HostLink& link, Op op, const exs_event_t& event) noexcept;
// Closes the pump's own descriptor of the connection.
void close_descriptor(HostLink& link) noexcept;
// The link cannot serve any more. A program that waits to meet goes on by TCP.
void fail(HostLink& link, Fault fault) noexcept;
// The link's stream has ended.
void break_off(HostLink& link, bool in_frame) noexcept;

// link_out.cc
void begin_stream(HostLink& link) noexcept;
void send_news(HostLink& link) noexcept;
bool send_hello(HostLink& link) noexcept;
// The peer has all bytes of the ring, and knows that nothing follows.
bool is_sent(const HostLink& link) noexcept;
// link_in.cc
bool await_frame(HostLink& link) noexcept;
void take_frame(HostLink& link) noexcept;
void take_data(HostLink& link) noexcept;
// Nothing more arrives: the program reads the rest, and goes on by TCP.
void close_incoming(HostLink& link) noexcept;
// callers.cc: ends that listen for streams, and streams that have connected.
void listen_for(HostLink& link) noexcept;
void take_stream(int socket) noexcept;
bool take_guest(void* handle, const exs_event_t& event) noexcept;
void forget_callers() noexcept;
void look_at_guests() noexcept;
bool has_guests() noexcept;
// asking.cc
void ask_agents() noexcept;
void forget_asking() noexcept;

}  // namespace exs::sockets::between
