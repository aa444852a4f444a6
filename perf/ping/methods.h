// The two ends of each kind that exs-ping measures.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "perf/support/method.h"

namespace ping {

// Normal and immediate sends, there and back.
perf::PeerResults echo_messages(perf::Channel& channel, const perf::Job& job, perf::Progress& progress);
perf::Driven send_there_and_back(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                                 perf::Progress& progress);

// Reads of the server's persistent send.
perf::Driven read_persistent(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                             perf::Progress& progress);

}  // namespace ping
