// The parameters and results of a measurement: plain values that the benchmarks and the control exchange share.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perf/support/kind.h"
#include "tools/common/histogram.h"
#include "tools/common/memory.h"

namespace perf {

enum class BenchmarkId : std::uint8_t { blast = 1, ping = 2 };
enum class Wait : std::uint8_t { adaptive = 0, notify = 1, busy = 2 };
using tools::MemoryKind;

// The library's default for the small-packet maximum.
inline constexpr std::uint64_t kSmallMaxDefaultBytes = 1024;
// The limit of one end's buffers.
inline constexpr std::uint64_t kBuffersMaxBytes = std::uint64_t{1} << 30U;

// The client's request. Both ends work by it.
struct Job {
  BenchmarkId benchmark = BenchmarkId::blast;
  Kind kind = Kind::normal;
  Wait wait = Wait::adaptive;
  MemoryKind memory = MemoryKind::plain;
  bool verify = false;
  bool nodelay = false;  // streams; affects only the sender
  bool reverse = false;  // the server sends
  bool more = false;     // another measurement of the same client follows
  std::uint32_t depth = 1;
  std::uint32_t warmup_messages = 0;  // first messages that are not counted
  std::uint64_t size_bytes = 0;
};

// A plain exs_send of this length would be of this kind, with the library's defaults at both ends.
bool is_taken_by_default(const Job& job);
// Returns the number of buffers of the server's end.
std::uint32_t server_buffers(const Job& job);
// Returns the bytes of the server's buffers, or of `depth` buffers, whichever are more. The client's end takes at most twice as much.
std::uint64_t buffers_bytes(const Job& job);
// Returns the number of data connections.
std::uint32_t data_connections(const Job& job);

// When the sender stops, and how it paces itself.
struct Limit {
  std::uint64_t count = 0;  // 0: the time decides
  std::uint64_t time_ns = 0;
  double rate = 0;                // messages due in a second; 0: each follows the one before at once
  std::uint64_t interval_ns = 0;  // between two reports; 0: none
  std::optional<std::uint64_t> flip_message;  // damage a byte of this one, which --verify has to detect
};

// The server's results, without the warm-up.
struct PeerResults {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t wrong_messages = 0;  // 0 without --verify
  std::uint64_t first_wrong_message = 0;
  std::uint64_t first_wrong_offset = 0;
};

// The events between two moments of a measurement.
struct Interval {
  double begin_seconds = 0;
  double end_seconds = 0;
  std::uint64_t messages = 0;
  std::optional<tools::Histogram> round_trips;
};

// The results that the client prints.
struct Measurement {
  std::string provider;
  Job job;
  bool pinned = false;
  bool interrupted = false;
  std::uint64_t messages = 0;
  double seconds = 0;
  std::optional<double> sender_cpu_percent;  // nullopt: unknown to the other end
  std::optional<double> receiver_cpu_percent;
  std::optional<bool> verified;  // nullopt: not requested
  std::string fault;             // of verification
  std::string broken;            // why the measurement ended early
  std::uint32_t connections = 1;
  double rate = 0;
  std::optional<tools::Histogram> round_trips;
  std::optional<tools::Histogram> due_round_trips;  // from the due time of each message
  std::vector<Interval> intervals;
};

const char* name_of(Wait wait);
const char* name_of(MemoryKind memory);

}  // namespace perf
