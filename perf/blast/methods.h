// The two ends of each kind that exs-blast measures.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "perf/support/method.h"

namespace blast {

// Normal and immediate sends, matched by receives.
perf::PeerResults receive_messages(perf::Channel& channel, const perf::Job& job, perf::Progress& progress);
perf::Driven send_messages(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                           perf::Progress& progress);

// Reads of the server's persistent send.
perf::Driven read_persistent(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                             perf::Progress& progress);

// Sends into the server's persistent receive.
perf::PeerResults be_written_to(perf::Channel& channel, const perf::Job& job, perf::Progress& progress);
perf::Driven write_persistent(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                              perf::Progress& progress);

// Reads of persistent sends that are refilled after each read.
perf::PeerResults answer_transactions(perf::Channel& channel, const perf::Job& job, perf::Progress& progress);
perf::Driven request_transactions(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                                  perf::Progress& progress);

// Bytes of a stream.
perf::PeerResults receive_stream(perf::Channel& channel, const perf::Job& job, perf::Progress& progress);
perf::Driven send_stream(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                         perf::Progress& progress);

}  // namespace blast
