// Immediate sends: the payload rides behind the header, gathered from the sender's memory, and is copied
// once, out of the slot it arrived in. What lies in several pieces is gathered by a copy.
#pragma once

#include <cstdint>
#include <span>

#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/proto/outbox.h"

namespace exs::proto {

[[nodiscard]] bool travels_immediate(const Operation& operation, const Agreement& agreement);

// The outcome may be given when the completion of `operation_id` comes: then the payload has left.
Status send_immediate(Outbox& outbox, const Operation& operation, std::uint32_t sequence,
                      std::uint64_t operation_id);

// The receive's outcome. `message`: header and payload.
Outcome take_immediate(std::span<const std::byte> message, const Operation& receive);

}  // namespace exs::proto
