// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/nudge.h"

#include <algorithm>

namespace exs::iwarp {
namespace {

constexpr std::uint64_t kFirstPauseNs = 30'000'000;
constexpr std::uint64_t kLastPauseNs = 480'000'000;  // twice the one before it, as each of them

}  // namespace

void Nudges::expect_first_word(Nudged* link, std::uint64_t now_ns) {
  entries_.push_back({link, now_ns + kFirstPauseNs, kFirstPauseNs});
  due_ns_ = std::min(due_ns_, now_ns + kFirstPauseNs);
}

void Nudges::forget(const Nudged* link) noexcept {
  if (std::erase_if(entries_, [link](const NudgeTime& entry) { return entry.link == link; }) > 0) find_due();
}

void Nudges::look_at_links(std::uint64_t now_ns) {
  std::erase_if(entries_, [now_ns](NudgeTime& entry) {
    if (entry.due_ns > now_ns) return false;
    if (entry.link->has_heard_peer()) return true;
    entry.link->nudge();
    if (entry.pause_ns >= kLastPauseNs) return true;
    entry.pause_ns *= 2;
    entry.due_ns = now_ns + entry.pause_ns;
    return false;
  });
  find_due();
}

void Nudges::find_due() noexcept {
  due_ns_ = kNoDeadline;
  for (const NudgeTime& entry : entries_) due_ns_ = std::min(due_ns_, entry.due_ns);
}

}  // namespace exs::iwarp
