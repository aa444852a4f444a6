// The kinds of transfer that can be measured. All that the tools share of a kind is its row in kind.cc; how a
// benchmark does it is a Method (method.h) in that benchmark's table.
#pragma once

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

// The connections of a measurement beside the one with the control messages.
enum class Connections : std::uint8_t {
  none,           // the control connection carries the data
  one,            // one carries the data
  one_per_buffer  // as many as the depth
};

struct KindTraits {
  Kind kind;
  const char* name;
  const char* summary;  // for --help, after the name and a colon
  Connections connections;
  int socket_type;    // of those connections
  int send_flags;     // of the sends of data
  bool in_small_max;  // the small-packet maximum is raised to the size
  std::uint64_t size_min_bytes;
  std::uint64_t size_max_bytes;
  std::uint64_t sweep_max_bytes;
  std::uint32_t depth_default;  // 0: the benchmark's
  std::uint32_t depth_max;
  const char*
      round_trip_key;  // JSON: under which a ping tells the whole of what it timed; nullptr: not at all
};

inline constexpr std::uint32_t kDepthMax = 4096;
inline constexpr std::uint64_t kSizeMaxBytes = std::uint64_t{1} << 30U;

bool is_kind(std::uint8_t number);
// `kind` must be one.
const KindTraits& traits_of(Kind kind);
const char* name_of(Kind kind);

}  // namespace perf
