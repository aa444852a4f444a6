// What memory and kernel do between two processes of one machine, without exs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/common/histogram.h"

namespace shm_baseline {

enum class Mode : std::uint8_t { line, futex, eventfd, read, copy };

struct Settings {
  std::uint64_t size_bytes = 0;  // read, copy
  std::uint32_t buffers = 1;     // read, copy: walked one after the other
  std::uint64_t time_ns = 0;
  bool pin = true;
};

// A sample is `operations` of them, one after the other: single ones may be as short as the clock is coarse.
struct Samples {
  tools::Histogram times;
  std::uint32_t operations = 1;
  bool pinned = false;
};

// Round trips: a word in a cache line that both look at; the same with a futex to sleep on; two eventfds.
Samples hand_over(Mode mode, const Settings& settings);
// process_vm_readv from a process that sleeps.
Samples read_memory(const Settings& settings);
// memcpy from one memfd's mapping to another's.
Samples copy_memory(const Settings& settings);

}  // namespace shm_baseline
