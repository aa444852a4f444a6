// The hello: the wishes of both ends, exchanged as private data of the connection set-up, and the agreement
// that both compute from them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "src/provider/provider.h"

namespace exs::proto {

enum class Role : std::uint8_t { kInitiator, kResponder };
enum class SocketKind : std::uint8_t { kMessage = 1, kStream = 2, kTagged = 3 };

// One end of a connection for tagged messages.
struct Introduction {
  static constexpr std::uint32_t kAnyRank = UINT32_MAX;
  std::uint32_t rank = 0;
  std::uint32_t peer_rank = kAnyRank;  // kAnyRank: any peer
  std::uint64_t id = 0;                // not 0: the ends have no ranks, but ids
  std::uint64_t peer_id = 0;           // 0: any peer
  std::array<std::byte, 16> job_key{};
  std::uint8_t eager_bytes_log2 = 20;  // what this end holds for the other: bytes that no receive has matched
  std::uint8_t adverts_log2 = 8;       // and adverts
  std::uint32_t job_size = 0;          // number of ranks; 0: not counted
};

struct Wishes {
  SocketKind kind = SocketKind::kMessage;
  std::uint32_t send_credits = 0;     // data messages we would like to have in flight
  std::uint32_t receive_credits = 0;  // data messages we are ready to hold
  std::uint32_t small_bytes = 0;      // longest immediate message we are ready to send or receive
  std::uint32_t read_depth = 0;       // reads out and reads in, each
  // Data messages we are ready to hold once the peer has had to wait for credits (credit_growth.h).
  std::uint32_t receive_credits_max = 0;
  Introduction introduction{};  // kTagged
};

struct TaggedAgreement {
  std::uint32_t peer_rank = 0;
  std::uint64_t peer_id = 0;
  std::uint64_t eager_bytes_out = 0;  // which the peer holds for us
  std::uint64_t eager_bytes_in = 0;   // which we hold for the peer
  std::uint32_t adverts_out = 0;
  std::uint32_t adverts_in = 0;
};

// The terms of one connection, as seen from one end.
struct Agreement {
  std::uint8_t version = 0;
  SocketKind kind = SocketKind::kMessage;
  // Data messages the peer may have in flight once it has had to wait: our own wish.
  std::uint16_t receive_credits_max = 0;
  std::uint32_t send_credits = 0;     // data messages we may have in flight
  std::uint32_t receive_credits = 0;  // data messages the peer may have in flight
  std::uint32_t small_bytes = 0;      // longest immediate message, both ways
  std::uint32_t reads_out = 0;
  std::uint32_t reads_in = 0;
  TaggedAgreement tagged{};  // kTagged
};

// Depths of the link that a connection with this agreement needs.
LinkDepths link_depths(const Agreement& agreement);

inline constexpr std::size_t kHelloBytesMax = 48;
struct Hello {
  std::array<std::byte, kHelloBytesMax> bytes{};
  std::size_t length_bytes = 0;
  [[nodiscard]] std::span<const std::byte> view() const noexcept { return {bytes.data(), length_bytes}; }
};

Hello make_hello(const Wishes& wishes);
// EPROTO: not a hello of ours. EPROTONOSUPPORT: no common version. EPROTOTYPE: other socket kind. EACCES: of another job, or for
// another rank of it. ERANGE: of our job, and counts other ranks than we do; the status has the words.
Result<Agreement> agree(const Wishes& ours, std::span<const std::byte> peer_hello);

// Private data of a rejection, for the initiator. `reason` is an errno value that the peer understands:
// ECONNREFUSED, EPROTONOSUPPORT, EPROTOTYPE, EACCES, EALREADY (our own connect to the peer is in progress,
// and stays) or EOPNOTSUPP (no provider that both ends allow).
Hello make_rejection(int reason);
// For a hello that agree() has refused.
Hello make_rejection(Status why, const Wishes& ours, std::span<const std::byte> peer_hello);
// The bytes begin as make_rejection() makes them; more may follow.
bool is_rejection(std::span<const std::byte> private_data);
// ECONNREFUSED if the bytes are not from make_rejection(). ERANGE: the status has the words.
Status rejection_reason(std::span<const std::byte> private_data);

}  // namespace exs::proto
