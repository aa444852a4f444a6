// What this process takes of the machine, as the kernel counts it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crowd {

struct ProcessMemory {
  std::uint64_t resident_bytes = 0;   // Rss: all pages in memory
  std::uint64_t anonymous_bytes = 0;  // of these the ones that no file backs: heap, stacks
};
// Exact, unlike the counters that ps and top read.
ProcessMemory memory_of_process();

// Open kernel descriptors.
std::size_t open_descriptors();

// Raises the soft limit to the hard one and returns what holds now: descriptors a process may have.
std::uint64_t raise_descriptor_limit();

// How many connections to one address and port this machine has local ports for.
std::uint64_t local_ports();

}  // namespace crowd
