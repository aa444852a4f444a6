// Operations between two processes of one machine by memory and kernel alone, without exs.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/common/histogram.h"
#include "tools/common/progress_line.h"

namespace shm_baseline {

enum class Mode : std::uint8_t { line, futex, eventfd, read, copy };

struct Settings {
  std::uint64_t size_bytes = 0;  // read, copy
  std::uint32_t buffers = 1;     // read, copy: used one after the other
  std::uint64_t time_ns = 0;
  bool pin = true;
};

// A sample is `operations` operations in a row, because a single one may be shorter than the clock's resolution.
struct Samples {
  tools::Histogram times;
  std::uint32_t operations = 1;
  bool pinned = false;
};

// Each of the following ends early on a signal, with the samples up to then.

// Round trips by a word in a shared cache line, by a futex, or by two eventfds.
Samples hand_over(Mode mode, const Settings& settings, tools::ProgressLine& line);
// process_vm_readv() from a sleeping process.
Samples read_memory(const Settings& settings, tools::ProgressLine& line);
// memcpy() from one memfd's mapping to another's.
Samples copy_memory(const Settings& settings, tools::ProgressLine& line);

}  // namespace shm_baseline
