// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/process/explain.h"

#include <cinttypes>
#include <cstdio>

#include "sockets/preload/kernel/log_line.h"
#include "sockets/preload/kernel/settings_in_use.h"
#include "sockets/preload/table/arena.h"

namespace exs::sockets {
namespace {

// The cause, where there is one to report.
struct Cause {
  char text[256] = {};

  explicit Cause(const FamilySlot& slot) noexcept {
    const Why why = slot.why.load();
    const bool has_met = slot.stage.load() == Stage::kLane ||
                         slot.counters.ring_sent.load() + slot.counters.ring_received.load() > 0;
    if (has_met && (why == Why::kNone || why == Why::kEnded)) return;
    const WhyText words = text_of(why);
    std::snprintf(text, sizeof text, "; %s: %s%s%s%s", words.code, words.sentence,
                  words.cure[0] == '\0' ? "" : " (cure: ", words.cure, words.cure[0] == '\0' ? "" : ")");
  }
};

}  // namespace

void explain_end(std::uint32_t index) noexcept {
  if (!settings().explain) return;
  const FamilySlot& slot = slot_at(index);
  const Cause cause(slot);
  const auto count = [](const std::atomic<std::uint64_t>& value) {
    return value.load(std::memory_order_relaxed);
  };
  tell_line("%s, sent %" PRIu64 " bytes by shared memory and %" PRIu64 " by TCP, received %" PRIu64
            " and %" PRIu64 ", %" PRIu64 " turns, %" PRIu64 " bells, %" PRIu64 " sleeps%s%s",
            slot.is_caller ? "connected" : "accepted", count(slot.counters.ring_sent),
            count(slot.counters.tcp_sent), count(slot.counters.ring_received),
            count(slot.counters.tcp_received), count(slot.counters.turns), count(slot.counters.bells),
            count(slot.counters.sleeps), slot.lane.was_between ? "; by RDMA to another host" : "",
            cause.text);
}

}  // namespace exs::sockets
