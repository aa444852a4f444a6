// The server's end of reads: it posts memory once with EXS_PERSISTENT, and then only waits for the client's end.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "perf/support/channel.h"
#include "perf/support/job.h"
#include "perf/support/progress.h"

namespace perf {

// The memory holds the pattern of this message.
inline constexpr std::uint64_t kPublishedMessage = 0;

PeerResults publish(Channel& channel, const Job& job, Progress& progress);

// At the client's end: makes every byte of `buffer` differ from its value after a read.
void scrub(std::span<std::byte> buffer);
// Describes the fault of read number `n`; empty: none.
std::string fault_of_read(std::span<const std::byte> read, std::uint64_t n);

}  // namespace perf
