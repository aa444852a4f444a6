// FORMAT: what hosts tell each other about connections that take a lane between them. All numbers little-endian. Whatever comes is
// checked before it is used: it may end the connection, never the process.
//
//   the calling end -> the called host's agent, by TCP      Request, answered by Answer
//   the agent -> the called end, by its card's Unix socket  Invitation
//   the called end -> the calling end, by an exs stream     Hello
//   both ways, behind that                                  Frame, Frame::bytes bytes of the ring, Frame ...
#pragma once

#include <cstdint>

namespace exs::sockets::between {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

inline constexpr std::uint16_t kAgentPort = 7429;
// In the abstract space of Unix sockets: an agent runs here.
inline constexpr char kAgentName[] = "exs-sock/1/agent";

// An address of IPv6, or of IPv4 as IPv6 has it, and a port of the host's order.
struct Place16 {
  std::uint8_t address[16];
  std::uint16_t port;
};

// Known to the two ends and the agent alone: whoever shows it is the peer.
struct Token {
  std::uint8_t bytes[16];
};

inline constexpr std::uint64_t kRequestMagic = 0x3175716572737865;  // "exsrequ1"
struct Request {
  std::uint64_t magic;
  Place16 caller;  // of the TCP connection
  Place16 called;
  Place16 meets_at;  // where the calling end listens for exs streams
  std::uint16_t reserved;
  Token token;
};
static_assert(sizeof(Request) == 80);

enum class Verdict : std::uint32_t {
  kPlaced = 1,     // the called end finds the invitation in its next calls
  kTaken = 2,      // it has done so
  kNotHere = 3,    // no such connection is established here
  kRefused = 4,    // the request is wrong, or not from the host of the caller
  kExhausted = 5,  // too many at a time
};
struct Answer {
  std::uint64_t magic;  // kRequestMagic
  Verdict verdict;
  std::uint32_t reserved;
};

inline constexpr std::uint64_t kInvitationMagic = 0x3169766e69737865;  // "exsinvi1"
struct Invitation {
  std::uint64_t magic;
  Place16 meets_at;
  std::uint16_t reserved[3];
  Token token;
};
static_assert(sizeof(Invitation) == 48);

inline constexpr std::uint64_t kHelloMagic = 0x316c6c6568737865;  // "exshell1"
struct Hello {
  std::uint64_t magic;
  Token token;
  std::uint64_t capacity;  // of each ring; both ends have rings of this size
  std::uint32_t bell;      // the byte that bells are
  std::uint32_t reserved;
};
static_assert(sizeof(Hello) == 40);

inline constexpr std::uint32_t kFrameMagic = 0x46737865;  // "exsF"
// Flags of a frame.
inline constexpr std::uint32_t kReady = 1;     // the end's receives look at the lane
inline constexpr std::uint32_t kClosed = 2;    // the end reads no more
inline constexpr std::uint32_t kFinish = 4;    // the end asks for a last turn: it is about to leave
inline constexpr std::uint32_t kHasFinal = 8;  // the end knows that the peer's stretch was the last
inline constexpr std::uint32_t kFlags = 15;

// The words of lane/direction.h as they were when the frame was made, so one that is lost in a later one is no loss. Both
// directions: the one from the end that sends the frame, and the one to it.
struct Frame {
  std::uint32_t magic;
  std::uint32_t bytes;  // of the ring, behind the frame
  // --- of the direction from here ---
  std::uint64_t position;  // of the first of these bytes
  std::uint64_t start;
  std::uint64_t mark;
  std::uint64_t turn;
  std::uint32_t epoch;
  std::uint32_t final;
  // --- of the direction to here ---
  std::uint64_t consumed;
  std::uint32_t passed;
  std::uint32_t
      turned;  // stretches whose turn was stored here, ever: no bell will be asked for in them any more
  std::uint32_t bells;  // asked for, ever
  std::uint32_t flags;
};
static_assert(sizeof(Frame) == 72);

}  // namespace exs::sockets::between
