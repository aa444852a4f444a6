// Immediate sends: the payload follows the header. The link gathers it from the sender's memory, and it is
// copied once, out of the slot it arrived in. What lies in several slices is copied into one first.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/proto/outbox.h"

namespace exs::proto {

[[nodiscard]] bool travels_immediate(const Operation& operation, const Agreement& agreement);

// The outcome is due at the completion of `operation_id`: then the payload has left.
Status send_immediate(Outbox& outbox, const Operation& operation, std::uint32_t sequence,
                      std::uint64_t operation_id);

// `message`: header and payload.
void take_immediate(const ArrivingMessage& message, const Operation& receive, Outcome& outcome);

}  // namespace exs::proto
