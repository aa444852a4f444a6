// A part of the connections is active: each of them sends its next message when the last one's response has arrived.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "perf/crowd_rate/ends.h"
#include "tools/common/histogram.h"

namespace crowd_rate {

struct Load {
  std::uint32_t active = 0;
  double seconds = 0;
  std::uint64_t messages = 0;  // there and back
  std::uint64_t least = 0;     // of one active connection
  tools::Histogram round_trips;
};

// Every n-th connection is active; those in between are silent.
Load measure_load(Client& client, const Settings& settings, std::uint32_t active);

}  // namespace crowd_rate
