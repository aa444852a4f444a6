// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/explain.h"

#include <cinttypes>
#include <cstdio>

#include "sockets/preload/arena.h"
#include "sockets/preload/log_line.h"
#include "sockets/preload/runtime.h"

namespace exs::sockets {
namespace {

// The cause, where there is one to report.
struct Cause {
  char text[256] = {};

  explicit Cause(const Slot& slot) noexcept {
    const Why why = slot.why.load();
    const bool has_met =
        slot.stage.load() == Stage::kLane || slot.ring_sent.load() + slot.ring_received.load() > 0;
    if (has_met && (why == Why::kNone || why == Why::kEnded)) return;
    const WhyText words = text_of(why);
    std::snprintf(text, sizeof text, "; %s: %s%s%s%s", words.code, words.sentence,
                  words.cure[0] == '\0' ? "" : " (cure: ", words.cure, words.cure[0] == '\0' ? "" : ")");
  }
};

}  // namespace

void explain_end(std::uint32_t index) noexcept {
  if (!settings().explain) return;
  const Slot& slot = slot_at(index);
  const Cause cause(slot);
  const auto count = [](const std::atomic<std::uint64_t>& value) {
    return value.load(std::memory_order_relaxed);
  };
  tell_line("%s, sent %" PRIu64 " bytes by shared memory and %" PRIu64 " by TCP, received %" PRIu64
            " and %" PRIu64 ", %" PRIu64 " turns, %" PRIu64 " bells, %" PRIu64 " sleeps%s%s",
            slot.is_caller ? "connected" : "accepted", count(slot.ring_sent), count(slot.tcp_sent),
            count(slot.ring_received), count(slot.tcp_received), count(slot.turns), count(slot.bells),
            count(slot.sleeps), slot.was_between ? "; by RDMA to another host" : "", cause.text);
}

}  // namespace exs::sockets
