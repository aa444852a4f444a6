// Reads of ours that are on the wire, against what the peer serves at once (its IRD, our ORD). The
// transmitter spends, the receiver gives back. Thread: shard.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::iwarp {

struct ReadBudget {
  std::uint32_t limit = 0;
  std::uint32_t on_wire = 0;
};

}  // namespace exs::iwarp
