// What an RDMA device does between two processes of one machine, with libibverbs and librdmacm alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/common/histogram.h"

namespace verbs_baseline {

enum class Mode : std::uint8_t { ping, read };

struct Settings {
  std::string address;  // that the device carries
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
  bool is_inline = false;  // sends carried their bytes in the work request
};

// SENDs there and back, one under way.
Result ping(const Settings& settings);
// RDMA READs by one end, `depth` under way; the other end sleeps.
Result read(const Settings& settings);

}  // namespace verbs_baseline
