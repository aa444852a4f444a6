// The two ends of each kind that exs-blast measures.
#pragma once

#include "perf/support/method.h"

namespace blast {

// Normal and immediate sends, matched by receives.
perf::PeerResults receive_messages(perf::Channel& channel, const perf::Job& job);
perf::Driven send_messages(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                           perf::Progress& progress);

}  // namespace blast
