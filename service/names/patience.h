// A time limit that does not count the time in which the process could not look. A starved or stopped process has missed events, so its
// silence proves nothing. For the same reason the limit never ends before a search, however late the thread is. Pure. Thread: one at a
// time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace exs::svc {

class Patience {
 public:
  // A look that is this late was waiting for a processor.
  static constexpr std::uint64_t kLateNs = 20 * kNsPerMs;

  void wait_for(std::uint64_t wait_ns, std::uint64_t now) noexcept {
    wait_until(time_after(now, wait_ns), now);
  }
  void wait_until(std::uint64_t limit_ns, std::uint64_t now) noexcept {
    limit_ns_ = limit_ns;
    wait_ns_ = limit_ns == kNeverNs ? kNeverNs : time_left(limit_ns, now);
    owes_search_ = true;
  }
  // The other end is alive and has not answered yet: the full time starts again.
  void is_there(std::uint64_t now) noexcept {
    limit_ns_ = std::max(limit_ns_, time_after(now, wait_ns_));
    owes_search_ = true;
  }
  // A search has begun since the time started: the limit may end now.
  void note_search() noexcept { owes_search_ = false; }
  [[nodiscard]] bool owes_search() const noexcept { return owes_search_; }
  // A look was due at `due_ns`: the time since then does not count.
  void look(std::uint64_t due_ns, std::uint64_t now) noexcept {
    if (time_after(due_ns, kLateNs) <= now && limit_ns_ != kNeverNs)
      limit_ns_ = time_after(limit_ns_, now - due_ns);
  }
  [[nodiscard]] bool is_over(std::uint64_t now) const noexcept { return now >= limit_ns_ && !owes_search_; }
  [[nodiscard]] std::uint64_t limit_ns() const noexcept { return limit_ns_; }

 private:
  std::uint64_t limit_ns_ = kNeverNs;
  std::uint64_t wait_ns_ = kNeverNs;
  bool owes_search_ = false;
};

}  // namespace exs::svc
