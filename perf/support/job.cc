#include "perf/support/job.h"

namespace perf {

std::uint32_t server_buffers(const Job& job) {
  // A ping has one message under way; the others are on the way back or wait to be filled.
  constexpr std::uint32_t kPingBuffers = 8;
  return job.tool == ToolId::ping ? kPingBuffers : job.depth;
}

const char* name_of(Kind kind) {
  return kind == Kind::normal ? "normal" : "immediate";
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
