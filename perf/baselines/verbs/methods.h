// Operations of an RDMA device between two processes of one machine, with libibverbs and librdmacm alone.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/common/histogram.h"

namespace verbs_baseline {

enum class Mode : std::uint8_t { ping, read };

struct Settings {
  std::string address;  // an address of the device
  std::uint64_t size_bytes = 0;
  std::uint32_t depth = 1;  // of reads
  std::uint64_t time_ns = 0;
  bool busy = false;
  bool pin = true;
};

struct Result {
  std::string device;
  bool pinned = false;
  std::uint64_t operations = 0;
  std::uint64_t wall_ns = 0;
  std::optional<tools::Histogram> round_trips;
  bool is_inline = false;  // the sends' work requests contained their bytes
};

// SENDs there and back, one at a time.
Result ping(const Settings& settings);
// RDMA READs by one end, `depth` pending; the other end sleeps.
Result read(const Settings& settings);

}  // namespace verbs_baseline
