// The events of transfers, from what was posted and what became of it.
#pragma once

#include "exs/exs.h"
#include "src/proto/operation.h"

namespace exs {

exs_event_t transfer_event(int socket, proto::Direction direction, const proto::Operation& operation,
                           const proto::Outcome& outcome);
// What all notices of a persistent operation have in common. As the operation is before it is attached to
// anything.
exs_event_t use_event(int socket, proto::Direction direction, const proto::Operation& operation);

}  // namespace exs
