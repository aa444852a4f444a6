// The clock of a shard: CLOCK_MONOTONIC, or the clock of a test or simulation.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "src/provider/provider.h"

namespace exs {

// A value of two pointers, to be copied freely. A polling thread reads the clock on every turn, so the real
// clock is read inline, behind one well-predicted branch, without a virtual call. Thread: any.
class Clock final {
 public:
  using Source = std::uint64_t (*)(void* context);

  // CLOCK_MONOTONIC.
  Clock() = default;
  // Any thread may call `source`, with `context`.
  Clock(Source source, void* context) : source_(source), context_(context) {}

  [[nodiscard]] std::uint64_t now_ns() const {
    return source_ == nullptr ? monotonic_ns() : source_(context_);
  }
  // Saturates: a time limit beyond the range of the clock is no limit (kNoDeadline).
  [[nodiscard]] std::uint64_t deadline_after(std::uint64_t ns) const {
    const std::uint64_t now = now_ns();
    return ns > kNoDeadline - now ? kNoDeadline : now + ns;
  }

 private:
  Source source_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace exs
