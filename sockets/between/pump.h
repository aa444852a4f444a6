// The thread that serves the lanes between hosts of this process: one, however many there are. It exists from the first such
// connection on, and blocks all signals.
//
// Design notes
// 1. A connection's bytes lie in a segment as they do with a peer on this host, and the pump is the peer: it is the receiver of the
//    outgoing direction and the sender of the incoming one. So whatever holds for the lane (lane/direction.h) holds for the
//    program, and agents, which only bring ends together, may be killed at any moment.
// 2. TCP and the stream know nothing of one another's order. A byte that TCP carries behind a turn, and an end that it tells, must
//    find the stretch before it at the peer; so who sends by TCP after a turn, or closes, waits until the peer's pump has
//    told that it has the turn (Frame::turned). Bells, which the peer asks for (Frame::bells), are all rung by then.
// 3. The pump takes no lock that a thread of the program may hold while it waits for the pump.
#pragma once

#include <span>

#include "sockets/between/library.h"
#include "sockets/between/link.h"

namespace exs::sockets::between {

// One that is free, or null: there are as many as there may be. It is the caller's, who sets its state.
Link* take_link() noexcept;
// Those that were ever taken: the others' memory is not touched.
std::span<Link> taken_links() noexcept;

// False: there can be none; `fault` says why.
bool start_pump(Fault& fault) noexcept;
// An event of the link is put into the pump's queue.
void post_wake(Link& link) noexcept;
void forget_pump() noexcept;
// Detached, with all signals blocked.
bool start_thread(void* (*body)(void*)) noexcept;

// --- for the pump's parts, in its thread ---
const Library& library() noexcept;
int queue() noexcept;
std::uint64_t now_ns() noexcept;

// What an event of a link is about, in the lowest bits of its handle.
enum class Op : std::uintptr_t { kWake, kConnect, kHello, kFrame, kData, kSend, kClose };
void* handle_of(Link& link, Op op) noexcept;

// A stream socket that takes RDMA devices alone.
class SocketName;
int open_stream(const SocketName& name) noexcept;

// Whoever waits for news of the link looks again.
void tell(Link& link) noexcept;
bool is_tcp_established(int descriptor) noexcept;
// link_life.cc. True: it is to be looked at again soon.
bool look_at(Link& link) noexcept;
void take_link_event(Link& link, Op op, const exs_event_t& event) noexcept;
// The pump's own descriptor of the connection.
void close_descriptor(Link& link) noexcept;
// It can serve no more, for this cause; a program that waits to meet goes on by TCP.
void fail(Link& link, Fault fault) noexcept;
// Its stream has ended.
void break_off(Link& link, bool in_frame) noexcept;

// link_out.cc
void begin_stream(Link& link) noexcept;
void send_news(Link& link) noexcept;
bool send_hello(Link& link) noexcept;
// Whether the peer has all that the program has put into the ring, and knows that nothing follows.
bool is_sent(const Link& link) noexcept;
// link_in.cc
bool await_frame(Link& link) noexcept;
void take_frame(Link& link) noexcept;
void take_data(Link& link) noexcept;
// What comes no more: the program reads what is there, and goes on by TCP.
void close_incoming(Link& link) noexcept;
// A program's side of the connection (between.h).
bool finish_sending(Link& link) noexcept;
void leave_program() noexcept;
bool takes_any_path() noexcept;
void reset_program(const Link& link, const char* cause) noexcept;
// callers.cc: ends that listen for streams, and streams that have come.
void listen_for(Link& link) noexcept;
void take_stream(int socket) noexcept;
bool take_guest(void* handle, const exs_event_t& event) noexcept;
void forget_callers() noexcept;
void look_at_guests() noexcept;
bool has_guests() noexcept;
// asking.cc
void ask_agents() noexcept;
void forget_asking() noexcept;

}  // namespace exs::sockets::between
