// The rules that this process goes by: those of sockets.conf, below what the environment says. Thread: any, after the constructor.
#pragma once

#include "sockets/preload/slot.h"
#include "sockets/settings/policy.h"

namespace exs::sockets {

const Policy& rules() noexcept;
// At the start.
void read_rules(const Environment& environment) noexcept;
// What counts for a connection, as far as it is known: `connection` of its first step of the meeting (Slot::rule).
inline const Settings& settings_of(const Slot& slot) noexcept {
  const std::uint32_t next = slot.rule.load(std::memory_order_relaxed);
  return next == 0 ? rules().rest : rules().settings_at(next - 1);
}

}  // namespace exs::sockets
