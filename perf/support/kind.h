// The kinds of transfer that can be measured. kind.cc has a row for each kind with all that the benchmarks share. A Method (method.h) in
// a benchmark's table has the rest.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <span>

namespace perf {

enum class Kind : std::uint8_t {
  normal = 0,
  immediate = 1,
  persistent = 2,
  persistent_receive = 3,
  transaction = 4,
  stream = 5,
};

// The connections of a measurement beside the control connection.
enum class Connections : std::uint8_t {
  none,           // the control connection carries the data
  one,            // one carries the data
  one_per_buffer  // as many as the depth
};

inline constexpr std::uint32_t kDepthMax = 4096;
inline constexpr std::uint64_t kSizeMaxBytes = std::uint64_t{1} << 30U;
inline constexpr std::uint64_t kSweepMaxBytes = std::uint64_t{16} << 20U;

struct KindTraits {
  Kind kind;
  const char* name;
  const char* summary;  // for --help, after the name and a colon
  Connections connections = Connections::none;
  int socket_type = SOCK_SEQPACKET;  // of those connections
  int send_flags = 0;                // of the sends of data
  bool may_be_reversed = false;      // the server can send in place of the client
  bool in_small_max = false;         // the small-packet maximum is raised to the size
  std::uint64_t size_min_bytes = 1;
  std::uint64_t size_max_bytes = kSizeMaxBytes;
  std::uint64_t sweep_max_bytes = kSweepMaxBytes;
  std::uint32_t depth_default = 0;  // 0: the benchmark's
  std::uint32_t depth_max = kDepthMax;
  // The JSON key of a ping's round trips; nullptr: they are not printed.
  const char* round_trip_key = nullptr;
};

bool is_kind(std::uint8_t number);
// `kind` must be one.
const KindTraits& traits_of(Kind kind);
const char* name_of(Kind kind);

}  // namespace perf
