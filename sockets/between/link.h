// A link: one connection's lane between hosts, with its exs stream to the peer. The pump is a thread of this
// process that plays the peer on the connection's segment (pump.h). It sends what the program puts into the
// outgoing ring, and puts what the peer sends into the incoming ring.
//
// Thread: the state decides who owns a part, unless the part names a thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "exs/exs.h"
#include "sockets/between/format.h"
#include "sockets/preload/table/segment.h"

namespace exs::sockets::between {

enum class State : std::uint32_t {
  kFree,
  kClaimed,  // the program initialises it
  kListens,  // calling end: the pump must listen and have the agent asked
  kAsks,     // calling end: the peer may connect
  kMet,      // calling end: the peer has connected, and the program must make a segment
  kJoins,    // calling end: the segment exists, and the pump must serve it
  kDials,    // called end: the pump must connect
  kSettles,  // called end: connected; the calling end has not joined yet
  kRuns,     // both ends serve it
  kOver,     // no byte moves any more; the segment has all that arrived
};

// In the order of settings/why.h, from kNotCome on.
enum class Fault : std::uint32_t {
  kNone,       // the peer has not come
  kNoLibrary,  // libexs is not there
  kNoDevice,   // no RDMA device has the address of this end
  kNoAgent,    // nothing answers at the peer's host
  kNotFound,   // the agent knows no such connection, or its program never asked
  kNoPath,     // the stream could not be set up
  kMemory,     // the ring's memory cannot be allocated or locked
  kTooMany,
};

struct HostLink {
  std::atomic<State> state;
  std::atomic<Fault> fault;
  std::atomic<bool> woken;          // the pump will look at it
  std::atomic<bool> released;       // the program has given it up
  std::atomic<bool> is_asked;       // the question to the agent of the peer's host is pending
  std::atomic<bool> finish_wanted;  // by the program: both directions go by TCP, for good

  // --- set by the program, before it sets the state ---
  bool is_caller;
  std::uint8_t bell;
  std::uint16_t agent_port;
  std::uint32_t slot;
  int descriptor;  // the pump's own descriptor of the TCP connection
  Place16 own;     // addresses of the TCP connection
  Place16 peer;
  Place16 meets_at;  // where the calling end listens for streams
  HostToken token;
  Segment* segment;
  std::size_t capacity;
  std::uint64_t released_ns;
  std::uint32_t bells_awaited;  // on release: bells that must still be taken from TCP

  // --- set by the pump; `news` counts the changes, for waiters ---
  std::atomic<std::uint32_t> news;
  // Stretches of ours that the peer has to their ends, with all bells rung.
  std::atomic<std::uint32_t> turned;
  std::atomic<std::uint32_t> told_passed;  // the value for which the pump was last woken
  std::atomic<bool> has_final;             // the peer knows that our last stretch is over
  // The peer has been sent all that it needs before its next byte of TCP, and before its end.
  std::atomic<bool> answered;
  std::atomic<bool> lost_bytes;              // the stream broke, perhaps with bytes of ours or of the peer
  std::atomic<std::uint64_t> told_consumed;  // the value last sent to the peer

  // --- the pump's own ---
  struct Pump {
    int socket;
    exs_mhandle_t region;
    std::uint32_t sends;  // sends in progress
    bool receives;        // a receive is in progress
    bool closes;
    bool broken;             // the stream has ended
    bool cut;                // it ended in the middle of a frame
    bool finishes;           // the peer has asked for our last turn
    std::uint64_t since_ns;  // begin of what has a time limit
    std::uint64_t sent;      // bytes of our ring sent
    // The outgoing direction, as the last frame reported it.
    HostFrame told;
    // The incoming direction.
    HostFrame frame;          // the frame that is arriving or has arrived
    std::uint32_t data_left;  // bytes of it that are missing
    std::uint64_t received;   // bytes of the peer's ring received
    std::uint32_t turned;     // stretches whose turn is stored
    std::uint32_t bells;      // bells that the peer was asked for, ever
    std::uint32_t rung;       // bells that the peer asked for, ever
    std::uint32_t peer_passed;
    std::uint64_t peer_consumed;
    bool answers;  // the peer must get a frame, however small
    bool ticks;    // the pump looks at it again soon
    HostHello hello;
  } pump;

  [[nodiscard]] Direction& outgoing() const noexcept {
    return is_caller ? segment->from_caller : segment->from_called;
  }
  [[nodiscard]] Direction& incoming() const noexcept {
    return is_caller ? segment->from_called : segment->from_caller;
  }
  [[nodiscard]] std::byte* outgoing_ring() const noexcept { return segment->ring(!is_caller, capacity); }
  [[nodiscard]] std::byte* incoming_ring() const noexcept { return segment->ring(is_caller, capacity); }
};

}  // namespace exs::sockets::between
