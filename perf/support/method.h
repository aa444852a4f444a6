// How one benchmark measures one kind: what each end does with its connections.
#pragma once

#include <optional>
#include <string>

#include "perf/support/channel.h"
#include "perf/support/job.h"
#include "perf/support/progress.h"
#include "tools/common/clock.h"

namespace perf {

// What the client's end of a measurement found.
struct Driven {
  std::uint64_t messages = 0;
  tools::Stopwatch watch;
  std::optional<tools::Histogram> round_trips;
  std::optional<tools::Histogram> due_round_trips;  // with a rate
  PeerResults peer;
  std::string fault;   // of verification at this end
  std::string broken;  // the measurement ended before its time: there are no results of the peer
};

struct Method {
  Kind kind;
  // The server's end, with server_buffers() slots and the connections of the kind made: gets ready, answers,
  // and works until the client's sending ends. Throws Failure. In reverse the client's, which ends early when a signal
  // asks for it.
  PeerResults (*serve)(Channel&, const Job&, Progress&);
  // The client's end (in reverse the server's), from the answer to the server's results. Throws Failure.
  Driven (*drive)(Channel&, const Job&, const Limit&, Progress&);
};

}  // namespace perf
