// FORMAT: the messages of hosts about connections with a lane between them. Numbers are little-endian. Every
// message is checked before its use; a wrong one may end the connection, never the process.
//
//   the calling end -> the called host's agent, by TCP      AgentRequest, answered by AgentAnswer
//   the agent -> the called end, by its card's Unix socket  HostInvitation
//   the called end -> the calling end, by an exs stream     HostHello
//   both ways, behind that                                  HostFrame, HostFrame::bytes bytes of the ring, HostFrame ...
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::sockets::between {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

inline constexpr std::uint16_t kAgentPort = 7429;
// The abstract Unix socket of an agent that runs here.
inline constexpr char kAgentName[] = "exs-sock/1/agent";

// An IPv6 or mapped IPv4 address, and a port in host order.
struct Place16 {
  std::uint8_t address[16];
  std::uint16_t port;
};

// A secret of the two ends and the agent. An end that shows it is the peer.
struct HostToken {
  std::uint8_t bytes[16];
};

inline constexpr std::uint64_t kRequestMagic = 0x3175716572737865;  // "exsrequ1"
struct AgentRequest {
  std::uint64_t magic;
  Place16 caller;  // of the TCP connection
  Place16 called;
  Place16 meets_at;  // where the calling end listens for exs streams
  std::uint16_t reserved;
  HostToken token;
};
static_assert(sizeof(AgentRequest) == 80);

enum class Verdict : std::uint32_t {
  kPlaced = 1,     // the called end finds the invitation in its next calls
  kTaken = 2,      // the called end has found it
  kNotHere = 3,    // no such connection is established here
  kRefused = 4,    // the request is wrong, or not from the caller's host
  kExhausted = 5,  // too many requests at a time
};
struct AgentAnswer {
  std::uint64_t magic;  // kRequestMagic
  Verdict verdict;
  std::uint32_t reserved;
};

inline constexpr std::uint64_t kInvitationMagic = 0x3169766e69737865;  // "exsinvi1"
struct HostInvitation {
  std::uint64_t magic;
  Place16 meets_at;
  std::uint16_t reserved[3];
  HostToken token;
};
static_assert(sizeof(HostInvitation) == 48);

inline constexpr std::uint64_t kHelloMagic = 0x316c6c6568737865;  // "exshell1"
struct HostHello {
  std::uint64_t magic;
  HostToken token;
  std::uint64_t capacity;  // of each ring, at both ends
  std::uint32_t bell;      // the value of a bell's byte
  std::uint32_t reserved;
};
static_assert(sizeof(HostHello) == 40);

inline constexpr std::uint32_t kFrameMagic = 0x46737865;  // "exsF"
// Flags of a frame.
inline constexpr std::uint32_t kReady = 1;     // the end's receives look at the lane
inline constexpr std::uint32_t kClosed = 2;    // the end reads no more
inline constexpr std::uint32_t kFinish = 4;    // the end is about to leave and asks for a last turn
inline constexpr std::uint32_t kHasFinal = 8;  // the end knows that the peer's stretch was the last
inline constexpr std::uint32_t kFlags = 15;

// The words of lane/direction.h at the time of the frame. A later frame has newer words, so a word that is
// skipped is no loss. The frame covers both directions.
struct HostFrame {
  std::uint32_t magic;
  std::uint32_t bytes;  // bytes of the ring that follow the frame
  // --- the direction from the frame's sender ---
  std::uint64_t position;  // position of the first of these bytes
  std::uint64_t start;
  std::uint64_t mark;
  std::uint64_t turn;
  std::uint32_t epoch;
  std::uint32_t final;
  // --- the direction to the frame's sender ---
  std::uint64_t consumed;
  std::uint32_t passed;
  // Stretches with a turn that the frame's sender has stored, ever. It asks for no more bells in them.
  std::uint32_t turned;
  std::uint32_t bells;  // bells asked for, ever
  std::uint32_t flags;
};
static_assert(sizeof(HostFrame) == 72);

}  // namespace exs::sockets::between
