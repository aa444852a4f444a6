#include "perf/support/kind.h"

#include <exs/exs.h>

#include <algorithm>
#include <array>

namespace perf {
namespace {

constexpr std::uint64_t kSweepMaxBytes = std::uint64_t{16} << 20U;
// A transaction's buffer begins with its sequence number.
constexpr std::uint64_t kSequenceBytes = 8;
// Each is a connection.
constexpr std::uint32_t kTransactionBuffersMax = 64;

constexpr std::array kKinds{
    KindTraits{.kind = Kind::normal,
               .name = "normal",
               .summary = "the peer reads the message",
               .connections = Connections::none,
               .socket_type = SOCK_SEQPACKET,
               .send_flags = EXS_NO_IMMEDIATE,
               .in_small_max = false,
               .size_min_bytes = 1,
               .size_max_bytes = kSizeMaxBytes,
               .sweep_max_bytes = kSweepMaxBytes,
               .depth_default = 0,
               .depth_max = kDepthMax,
               .round_trip_key = nullptr},
    KindTraits{.kind = Kind::immediate,
               .name = "immediate",
               .summary = "it travels inside its advertisement, up to 32K",
               .connections = Connections::none,
               .socket_type = SOCK_SEQPACKET,
               .send_flags = 0,
               .in_small_max = true,
               .size_min_bytes = 1,
               .size_max_bytes = EXS_SMALL_MAX,
               .sweep_max_bytes = EXS_SMALL_MAX,
               .depth_default = 0,
               .depth_max = kDepthMax,
               .round_trip_key = nullptr},
    KindTraits{.kind = Kind::persistent,
               .name = "persistent",
               .summary = "the client reads memory that the server has posted once",
               .connections = Connections::one,
               .socket_type = SOCK_SEQPACKET,
               .send_flags = EXS_PERSISTENT,
               .in_small_max = false,
               .size_min_bytes = 1,
               .size_max_bytes = kSizeMaxBytes,
               .sweep_max_bytes = kSweepMaxBytes,
               .depth_default = 0,
               .depth_max = kDepthMax,
               .round_trip_key = "read_us"},
    KindTraits{.kind = Kind::persistent_receive,
               .name = "persistent-receive",
               .summary = "the client writes memory that the server has posted once",
               .connections = Connections::one,
               .socket_type = SOCK_SEQPACKET,
               .send_flags = 0,
               .in_small_max = false,
               .size_min_bytes = 1,
               .size_max_bytes = kSizeMaxBytes,
               .sweep_max_bytes = kSweepMaxBytes,
               .depth_default = 0,
               .depth_max = kDepthMax,
               .round_trip_key = nullptr},
    KindTraits{
        .kind = Kind::transaction,
        .name = "transaction",
        .summary = "the server refills each of its buffers, --depth of them, once the client has read it",
        .connections = Connections::one_per_buffer,
        .socket_type = SOCK_SEQPACKET,
        .send_flags = EXS_PERSISTENT | EXS_NOTIFY,
        .in_small_max = false,
        .size_min_bytes = kSequenceBytes,
        .size_max_bytes = kSizeMaxBytes,
        .sweep_max_bytes = kSweepMaxBytes,
        .depth_default = 2,
        .depth_max = kTransactionBuffersMax,
        .round_trip_key = nullptr},
    KindTraits{.kind = Kind::stream,
               .name = "stream",
               .summary = "bytes of a SOCK_STREAM, small sends combined unless --nodelay",
               .connections = Connections::one,
               .socket_type = SOCK_STREAM,
               .send_flags = 0,
               .in_small_max = false,
               .size_min_bytes = 1,
               .size_max_bytes = kSizeMaxBytes,
               .sweep_max_bytes = kSweepMaxBytes,
               .depth_default = 0,
               .depth_max = kDepthMax,
               .round_trip_key = nullptr},
};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "a kind is its row");

}  // namespace

bool is_kind(std::uint8_t number) {
  return number < kKinds.size();
}

const KindTraits& traits_of(Kind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

const char* name_of(Kind kind) {
  return traits_of(kind).name;
}

}  // namespace perf
