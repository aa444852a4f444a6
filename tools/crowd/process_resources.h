// The memory, descriptors and ports of this process, as the kernel counts them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crowd {

struct ProcessMemory {
  std::uint64_t resident_bytes = 0;   // Rss: all pages in memory
  std::uint64_t anonymous_bytes = 0;  // of these the ones that no file backs: heap, stacks
};
// Exact, unlike the counters that ps and top read.
ProcessMemory measure_memory();

// Open kernel descriptors.
std::size_t count_descriptors();

// Local ports of this machine: as many connections to one address and port are possible.
std::uint64_t count_local_ports();

}  // namespace crowd
