// Makes the events of transfers, from the operation and its outcome.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "exs/exs.h"
#include "src/proto/operation.h"

namespace exs {

// Writes all of `event`, where it is to stay: an event that is made elsewhere and copied at once stalls the processor.
void make_transfer_event(exs_event_t& event, int socket, proto::Direction direction,
                         const proto::Operation& operation, const proto::Outcome& outcome);
// The event that all notices of a persistent operation have in common. `operation`: before an attachment
// describes it.
exs_event_t use_event(int socket, proto::Direction direction, const proto::Operation& operation);

}  // namespace exs
