// The rules of this process: those of sockets.conf, overridden by the environment. Thread: any, after the
// constructor.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/preload/slot.h"
#include "sockets/settings/policy.h"

namespace exs::sockets {

const Policy& rules() noexcept;
// Called once, at the start.
void read_rules(const Environment& environment) noexcept;
// The settings for a connection. The first step of its meeting finds the rule (Slot::rule); before that the
// general settings count.
inline const Settings& settings_of(const Slot& slot) noexcept {
  const std::uint32_t next = slot.rule.load(std::memory_order_relaxed);
  return next == 0 ? rules().rest : rules().settings_at(next - 1);
}

}  // namespace exs::sockets
