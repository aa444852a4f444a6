// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/kind.h"

#include <exs/exs.h>

#include <algorithm>
#include <array>

namespace perf {
namespace {

// A transaction's buffer begins with its sequence number.
constexpr std::uint64_t kSequenceBytes = 8;
// Each is a connection.
constexpr std::uint32_t kTransactionBuffersMax = 64;

constexpr std::array kKinds{
    KindTraits{.kind = Kind::normal,
               .name = "normal",
               .summary = "the peer reads the message",
               .send_flags = EXS_NO_IMMEDIATE,
               .may_be_reversed = true},
    KindTraits{.kind = Kind::immediate,
               .name = "immediate",
               .summary = "it travels inside its advertisement, up to 32K",
               .may_be_reversed = true,
               .in_small_max = true,
               .size_max_bytes = EXS_SMALL_MAX,
               .sweep_max_bytes = EXS_SMALL_MAX},
    KindTraits{.kind = Kind::persistent,
               .name = "persistent",
               .summary = "the client reads memory that the server has posted once",
               .connections = Connections::one,
               .send_flags = EXS_PERSISTENT,
               .round_trip_key = "read_us"},
    KindTraits{.kind = Kind::persistent_receive,
               .name = "persistent-receive",
               .summary = "the client writes memory that the server has posted once",
               .connections = Connections::one},
    KindTraits{
        .kind = Kind::transaction,
        .name = "transaction",
        .summary = "the server refills each of its buffers, --depth of them, once the client has read it",
        .connections = Connections::one_per_buffer,
        .send_flags = EXS_PERSISTENT | EXS_NOTIFY,
        .size_min_bytes = kSequenceBytes,
        .depth_default = 2,
        .depth_max = kTransactionBuffersMax},
    KindTraits{.kind = Kind::stream,
               .name = "stream",
               .summary = "bytes of a SOCK_STREAM, small sends combined unless --nodelay",
               .connections = Connections::one,
               .socket_type = SOCK_STREAM,
               .may_be_reversed = true},
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
