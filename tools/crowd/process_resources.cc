// SPDX-License-Identifier: BSD-2-Clause
#include "tools/crowd/process_resources.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "tools/common/failure.h"

namespace crowd {

ProcessMemory measure_memory() {
  std::ifstream lines("/proc/self/smaps_rollup");
  ProcessMemory memory;
  std::string line;
  while (std::getline(lines, line)) {
    constexpr std::uint64_t kUnitBytes = 1024;
    if (line.rfind("Rss:", 0) == 0) memory.resident_bytes = std::stoull(line.substr(4)) * kUnitBytes;
    if (line.rfind("Anonymous:", 0) == 0) memory.anonymous_bytes = std::stoull(line.substr(10)) * kUnitBytes;
  }
  if (memory.resident_bytes == 0)
    throw tools::Failure("/proc/self/smaps_rollup does not tell the memory in use");
  return memory;
}

std::size_t count_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count - 1;  // one is the iterator's own
}

std::uint64_t count_local_ports() {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (!(range >> first >> last) || last < first) throw tools::Failure("cannot read the range of local ports");
  return last - first + 1;
}

}  // namespace crowd
