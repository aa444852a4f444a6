// How long a thread waits: until a moment, or for a duration. A duration needs no clock: sleeps reduce it.
#pragma once

#include <cstdint>

#include "src/provider/provider.h"

namespace exs {

class WaitLimit {
 public:
  // Of the shard's clock; kNoDeadline: no limit; 0: look once.
  static WaitLimit until(std::uint64_t deadline_ns) noexcept { return {deadline_ns, false}; }
  // kNoDeadline: no limit; 0: look once.
  static WaitLimit lasting(std::uint64_t ns) noexcept { return {ns, ns != 0 && ns != kNoDeadline}; }

  [[nodiscard]] bool is_none() const noexcept { return ns_ == kNoDeadline; }
  [[nodiscard]] bool has_passed() const noexcept { return ns_ == 0; }
  // True: left_ns() needs the time.
  [[nodiscard]] bool is_moment() const noexcept { return !lasts_ && !is_none(); }
  [[nodiscard]] std::uint64_t left_ns(std::uint64_t now_ns) const noexcept {
    if (lasts_ || is_none()) return ns_;
    return ns_ > now_ns ? ns_ - now_ns : 0;
  }
  void slept(std::uint64_t ns) noexcept {
    if (lasts_) ns_ = ns_ > ns ? ns_ - ns : 0;
  }
  // Turns a duration into the moment at which it ends, and returns that.
  std::uint64_t fix(std::uint64_t now_ns) noexcept {
    if (lasts_) ns_ = ns_ > kNoDeadline - now_ns ? kNoDeadline : now_ns + ns_;
    lasts_ = false;
    return ns_;
  }

 private:
  WaitLimit(std::uint64_t ns, bool lasts) noexcept : ns_(ns), lasts_(lasts) {}

  std::uint64_t ns_;
  bool lasts_;
};

}  // namespace exs
