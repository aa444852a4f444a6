// The memory, descriptors and ports of this process, as the kernel counts them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace crowd {

struct ProcessMemory {
  std::uint64_t resident_bytes = 0;   // Rss: all pages in memory
  std::uint64_t anonymous_bytes = 0;  // of these, pages that no file backs: heap, stacks
};
// Exact values, unlike the counters that ps and top read.
ProcessMemory measure_memory();

// Counts the open kernel descriptors.
std::size_t count_descriptors();

// Counts the local ports of this machine: the limit of connections to one address and port.
std::uint64_t count_local_ports();

}  // namespace crowd
