// A part of the connections is active: each of them sends its next message when the response to the last has come.
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

// Of the connections, every n-th is active, so that those beside it say nothing.
Load measure_load(Client& client, const Settings& settings, std::uint32_t active);

}  // namespace crowd_rate
