// The hosts of a job, and the number of processes on each.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/run/remote_host.h"

namespace run {

// Parses "a:8,b:8,c": names with the number of processes, else 1. Throws tools::UsageError.
std::vector<HostName> parse_hosts(const std::string& list);
// Reads a file of lines "a:8", "a slots=8" or "a"; # begins a comment. Throws tools::UsageError, tools::Failure.
std::vector<HostName> read_hosts(const std::string& path);

// Reduces the slots to this many processes in all, the first hosts first; 0 keeps all. Throws tools::UsageError if there are not enough
// slots.
std::vector<HostName> filled(std::vector<HostName> hosts, std::size_t processes);

}  // namespace run
