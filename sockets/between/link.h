// One connection's lane between hosts: the exs stream to the peer, and what the program and the pump know of it. The pump is a
// thread of this process that plays the peer on the connection's segment: it takes what the program puts into the outgoing ring, and
// puts into the incoming one what comes from the peer (pump.h).
//
// Thread: where a part is not said to be another's, whoever finds it in the state that is told.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sockets/between/format.h"
#include "sockets/preload/segment.h"

namespace exs::sockets::between {

enum class State : std::uint32_t {
  kFree,
  kClaimed,  // the program fills it in
  kListens,  // calling end: the pump is to listen, and the agent is to be asked
  kAsks,     // calling end: the peer may come
  kMet,      // calling end: it has come, and the program is to make a segment
  kJoins,    // calling end: it has made one, and the pump is to serve it
  kDials,    // called end: the pump is to connect
  kSettles,  // called end: connected; the calling end has not joined yet
  kRuns,     // both ends serve it
  kOver,     // no byte moves any more; what has come is in the segment
};

// In the order of settings/why.h, from kNotCome on.
enum class Fault : std::uint32_t {
  kNone,       // the peer has not come
  kNoLibrary,  // libexs is not there
  kNoDevice,   // no RDMA device has the address of this end
  kNoAgent,    // nothing answers at the peer's host
  kNotFound,   // the agent knows no such connection, or its program never asked
  kNoPath,     // the stream could not be set up
  kMemory,     // what the ring needs is not to be had, or may not be locked
  kTooMany,
};

struct Link {
  std::atomic<State> state;
  std::atomic<Fault> fault;
  std::atomic<bool> woken;     // the pump will look at it
  std::atomic<bool> released;  // the program has it no more
  std::atomic<bool> is_asked;  // the agent of the peer's host is to be asked, or is being asked

  // --- what the program tells, before it sets the state ---
  bool is_caller;
  std::uint16_t agent_port;
  std::uint32_t slot;
  int descriptor;  // the pump's own, of the TCP connection
  Place16 own;     // addresses of the TCP connection
  Place16 peer;
  Place16 meets_at;  // where the calling end listens for streams
  Token token;
  Segment* segment;
  std::size_t capacity;
  std::uint8_t bell;
  std::uint64_t released_ns;
  std::uint32_t bells_awaited;  // when it is released: that are to be taken off TCP

  // --- what the program asks for ---
  std::atomic<bool> finish_wanted;  // both ways go by TCP, for good

  // --- what the pump tells; `news` counts, for whoever waits ---
  std::atomic<std::uint32_t> news;
  std::atomic<std::uint32_t>
      turned;                   // stretches of ours that the peer has to their ends, with all bells rung
  std::atomic<bool> has_final;  // the peer knows that our last stretch is over
  std::atomic<bool>
      answered;  // the peer has been sent all that it waits for before its next byte of TCP, and its end
  std::atomic<bool> lost_bytes;  // the stream broke, and bytes of ours, or the peer's, may have been on it
  std::atomic<std::uint64_t> told_consumed;  // to the peer
  std::atomic<std::uint32_t> told_passed;    // that the pump was woken for

  // --- the pump's own ---
  struct Pump {
    int socket;
    int region;
    std::uint32_t sends;  // under way
    bool receives;        // one is under way
    bool closes;
    bool broken;             // the stream has ended
    bool cut;                // in the middle of a frame
    bool finishes;           // the peer has asked for our last turn
    std::uint64_t since_ns;  // of what has a time limit
    std::uint64_t sent;      // bytes of our ring
    // Of the direction from here, as the last frame said.
    Frame told;
    // Of the direction to here.
    Frame frame;              // that comes, or has come
    std::uint32_t data_left;  // of its bytes
    std::uint64_t received;   // bytes of the peer's ring
    std::uint32_t turned;     // stretches whose turn is stored
    std::uint32_t bells;      // that the peer shall ring, ever
    std::uint32_t rung;       // that the peer wanted, ever
    std::uint32_t peer_passed;
    std::uint64_t peer_consumed;
    bool answers;  // the peer is to be told something, however little
    bool ticks;    // it is looked at again soon
    Hello hello;
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
