// What is measured, and what came out: plain values that the benchmarks and the control exchange share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perf/support/kind.h"
#include "tools/common/histogram.h"
#include "tools/common/memory.h"

namespace perf {

enum class BenchmarkId : std::uint8_t { blast = 1, ping = 2 };
enum class Wait : std::uint8_t { adaptive = 0, notify = 1, busy = 2 };
using tools::MemoryKind;

// What the buffers of one end may take.
inline constexpr std::uint64_t kBuffersMaxBytes = std::uint64_t{1} << 30U;

// What the client asks for. Both ends work by it.
struct Job {
  BenchmarkId benchmark = BenchmarkId::blast;
  Kind kind = Kind::normal;
  Wait wait = Wait::adaptive;
  MemoryKind memory = MemoryKind::plain;
  bool verify = false;
  bool nodelay = false;  // streams; the client's own affair
  std::uint32_t depth = 1;
  std::uint32_t warmup_messages = 0;  // first messages that are not counted
  std::uint64_t size_bytes = 0;
};

// Buffers that the server's end takes.
std::uint32_t server_buffers(const Job& job);
// What the buffers of the server's end, or those of a depth, take, whichever are more: the client's end takes
// no more than twice as much.
std::uint64_t buffers_bytes(const Job& job);
// Connections of the measurement beside the one with the control messages.
std::uint32_t data_connections(const Job& job);

// When the sender stops, which the server need not know.
struct Limit {
  std::uint64_t count = 0;  // 0: by time
  std::uint64_t time_ns = 0;
  std::optional<std::uint64_t> flip_message;  // spoil a byte of this one, to see that --verify finds it
};

// What the server found, without the warm-up.
struct PeerResults {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t wrong_messages = 0;  // 0 without --verify
  std::uint64_t first_wrong_message = 0;
  std::uint64_t first_wrong_offset = 0;
};

// What the client prints.
struct Measurement {
  std::string provider;
  Job job;
  bool pinned = false;
  bool interrupted = false;
  std::uint64_t messages = 0;
  double seconds = 0;
  double sender_cpu_percent = 0;
  double receiver_cpu_percent = 0;
  std::optional<bool> verified;  // nullopt: not asked
  std::string fault;             // what verification found
  std::optional<tools::Histogram> round_trips;
};

const char* name_of(Wait wait);
const char* name_of(MemoryKind memory);

}  // namespace perf
