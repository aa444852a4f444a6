// A time after which something is due. It begins at the first look, so that its starter need not know the
// time: only progress() passes the time to a port.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs {

class Countdown {
 public:
  void start(std::uint64_t after_ns) {
    after_ns_ = after_ns;
    due_ns_ = 0;
  }
  void stop() { due_ns_ = UINT64_MAX; }
  [[nodiscard]] bool runs() const noexcept { return due_ns_ != UINT64_MAX; }
  // The time to look: at once before the first look; UINT64_MAX (kNoDeadline) when it does not run.
  [[nodiscard]] std::uint64_t due_ns() const noexcept { return due_ns_; }
  bool is_due(std::uint64_t now_ns) {
    if (due_ns_ == 0) due_ns_ = now_ns + after_ns_;
    return now_ns >= due_ns_;
  }

 private:
  std::uint64_t after_ns_ = 0;
  std::uint64_t due_ns_ = UINT64_MAX;
};

}  // namespace exs
