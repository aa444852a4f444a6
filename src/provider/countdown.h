// A time after which something is due. It begins when it is first looked at, so that who starts it need not know the
// time: a port is told the time by progress() alone.
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
  // When to look: at once as long as nobody has; UINT64_MAX (kNoDeadline) when it does not run.
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
