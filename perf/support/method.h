// How one benchmark measures one kind: the work of each end on its connections.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>

#include "perf/support/channel.h"
#include "perf/support/job.h"
#include "perf/support/progress.h"
#include "tools/common/clock.h"

namespace perf {

// The results of the client's end.
struct Driven {
  std::uint64_t messages = 0;
  tools::Stopwatch watch;
  std::optional<tools::Histogram> round_trips;
  std::optional<tools::Histogram> due_round_trips;  // with a rate
  PeerResults peer;
  std::string fault;   // of verification at this end
  std::string broken;  // the measurement ended early: there are no results of the peer
};

struct Method {
  Kind kind;
  // The server's end, after server_buffers() slots and the connections of the kind have been made. It prepares, answers, and works until
  // the client's sending ends. Throws Failure. In reverse it is the client's end, which ends early on a signal.
  PeerResults (*serve)(Channel&, const Job&, Progress&);
  // The client's end (in reverse the server's), from the answer to the server's results. Throws Failure.
  Driven (*drive)(Channel&, const Job&, const Limit&, Progress&);
};

}  // namespace perf
