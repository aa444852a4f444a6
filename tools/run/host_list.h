// Which hosts a job is on, and how many of its processes each has.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/run/remote_host.h"

namespace run {

// "a:8,b:8,c": names with the number of processes, else 1. Throws tools::UsageError.
std::vector<HostName> parse_hosts(const std::string& list);
// A file of lines "a:8", "a slots=8" or "a"; what follows # is left out. Throws tools::UsageError, tools::Failure.
std::vector<HostName> read_hosts(const std::string& path);

// So many processes in all, the first hosts first; 0: as many as there is room for. Throws tools::UsageError if that is too little.
std::vector<HostName> filled(std::vector<HostName> hosts, std::size_t processes);

}  // namespace run
