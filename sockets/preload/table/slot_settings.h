// The settings that count for a connection. Thread: any, after the constructor.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/preload/kernel/rules.h"
#include "sockets/preload/table/slot.h"

namespace exs::sockets {

// The settings for a connection. The first step of its meeting finds the rule (FamilySlot::rule); before that the
// general settings count.
inline const SocketsSettings& settings_of(const FamilySlot& slot) noexcept {
  const std::uint32_t next = slot.rule.load(std::memory_order_relaxed);
  return next == 0 ? rules().rest : rules().settings_at(next - 1);
}

}  // namespace exs::sockets
