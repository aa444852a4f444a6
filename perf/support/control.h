// The control messages of a connection, in network byte order. The client opens with a request, and the server answers. When the client
// has shut down its sending, the server sends its results. If the server sends the data, all messages after its first answer go the other
// way. For kinds with data connections the server first answers with their port, and accepts once they exist. If buffers change hands,
// turns come between answer and results.
//
//   request  offset 0 magic "exsT"  4 u16 version  6 u8 benchmark  7 u8 kind  8 u8 wait  9 u8 memory  10 u8 verify
//            11 u8 flags  12 u32 depth  16 u32 warm-up messages  20 zero (4)  24 u64 size in bytes
//            32 u64 count  40 u64 time in ns
//            flags: 1 the server sends, until count or time is reached; 2 the client will ask again; 4 no delay
//   answer   0 magic  4 u16 version  6 u16 verdict  8 u16 port  10 zero (6)
//   turn     0 magic  4 u16 version  6 zero (2)  8 u32 buffer  12 zero (4)  16 u64 sequence number
//   results  0 magic  4 u16 version  6 zero (2)  8 u64 messages  16 u64 bytes  24 u64 processor ns  32 u64 wall ns
//            40 u64 wrong messages  48 u64 first wrong message  56 u64 offset in it
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "perf/support/job.h"

namespace perf {

inline constexpr std::uint16_t kControlVersion = 3;
inline constexpr std::size_t kRequestBytes = 48;
inline constexpr std::size_t kAnswerBytes = 16;
inline constexpr std::size_t kTurnBytes = 24;
inline constexpr std::size_t kResultsBytes = 64;
inline constexpr std::size_t kControlMaxBytes = 64;

enum class Verdict : std::uint16_t {
  accepted = 0,
  malformed = 1,  // no request, or a field out of range
  other_version = 2,
  other_benchmark = 3,
  too_large = 4,  // the buffers
  no_memory = 5,
  connect = 6,  // accepted so far: connect to the port, and wait for another answer
  other_kind = 7,
};
struct Answer {
  Verdict verdict = Verdict::accepted;
  std::uint16_t port = 0;
};
std::string sentence_of(Verdict verdict);

inline constexpr std::uint64_t kTimeMaxNs = 86'400'000'000'000;  // a day
struct Request {
  Job job;
  Limit limit;  // count and time
};
std::array<std::byte, kRequestBytes> encode_request(const Request& request);
// Writes `request` only if it accepts.
Verdict decode_request(std::span<const std::byte> message, BenchmarkId expected, Request& request);

std::array<std::byte, kAnswerBytes> encode_answer(const Answer& answer);
// Throws Failure if this is no answer.
Answer decode_answer(std::span<const std::byte> message);

// The server is done with a buffer, and the client may use it.
struct Turn {
  std::uint32_t buffer = 0;
  std::uint64_t sequence = 0;  // of the buffer's content
};
std::array<std::byte, kTurnBytes> encode_turn(const Turn& turn);
// Throws Failure if this is no turn.
Turn decode_turn(std::span<const std::byte> message);

std::array<std::byte, kResultsBytes> encode_results(const PeerResults& results);
// Throws Failure if these are no results.
PeerResults decode_results(std::span<const std::byte> message);

}  // namespace perf
