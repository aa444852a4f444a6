// The clock of a shard: CLOCK_MONOTONIC, unless a test or a simulation brings its own.
#pragma once

#include <cstdint>

#include "src/base/clock.h"
#include "src/provider/provider.h"

namespace exs {

// A value of two pointers, copied freely. The clock is asked on every turn of a polling thread, so the real
// one is asked inline behind a test that always goes the same way: no virtual call, and none through a
// pointer. Thread: any.
class Clock final {
 public:
  using Source = std::uint64_t (*)(void* context);

  // CLOCK_MONOTONIC.
  Clock() = default;
  // `source` is called by any thread, with `context`.
  Clock(Source source, void* context) : source_(source), context_(context) {}

  [[nodiscard]] std::uint64_t now_ns() const {
    return source_ == nullptr ? monotonic_ns() : source_(context_);
  }
  // Saturates: a time limit beyond the clock's range is none (kNoDeadline).
  [[nodiscard]] std::uint64_t deadline_after(std::uint64_t ns) const {
    const std::uint64_t now = now_ns();
    return ns > kNoDeadline - now ? kNoDeadline : now + ns;
  }

 private:
  Source source_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace exs
