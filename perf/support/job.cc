// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/job.h"

#include <algorithm>

namespace perf {

bool is_taken_by_default(const Job& job) {
  return job.kind == (job.size_bytes <= kSmallMaxDefaultBytes ? Kind::immediate : Kind::normal);
}

std::uint32_t server_buffers(const Job& job) {
  // A ping has one message under way; the other buffers are coming back or waiting to be filled.
  constexpr std::uint32_t kPingBuffers = 8;
  if (job.kind == Kind::persistent || job.kind == Kind::stream) return 1;
  return job.benchmark == BenchmarkId::ping ? kPingBuffers : job.depth;
}

std::uint64_t buffers_bytes(const Job& job) {
  return job.size_bytes * std::max(server_buffers(job), job.depth);
}

std::uint32_t data_connections(const Job& job) {
  switch (traits_of(job.kind).connections) {
    case Connections::none: return 0;
    case Connections::one: return 1;
    case Connections::one_per_buffer: return job.depth;
  }
  return 0;
}

const char* name_of(Wait wait) {
  switch (wait) {
    case Wait::adaptive: return "adaptive";
    case Wait::notify: return "notify";
    case Wait::busy: return "busy";
  }
  return "unknown";
}

const char* name_of(MemoryKind memory) {
  return memory == MemoryKind::plain ? "plain" : "alloc";
}

}  // namespace perf
