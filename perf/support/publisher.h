// The server's end of reads: memory that is posted once with EXS_PERSISTENT, and then nothing but the wait
// for the client's end.
#pragma once

#include "perf/support/channel.h"
#include "perf/support/job.h"
#include "perf/support/progress.h"

namespace perf {

// The memory holds the pattern of this message.
inline constexpr std::uint64_t kPublishedMessage = 0;

PeerResults publish(Channel& channel, const Job& job, Progress& progress);

// At the client's end: makes every byte of `buffer` other than it must be after a read.
void scrub(std::span<std::byte> buffer);
// What is wrong with read number `n`; empty: nothing.
std::string fault_of_read(std::span<const std::byte> read, std::uint64_t n);

}  // namespace perf
