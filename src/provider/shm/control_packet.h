// The messages between the two ends of a channel over its Unix socket: set-up, joins, and descriptors. Each
// is one packet of a SOCK_SEQPACKET socket.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "src/provider/shm/identity.h"
#include "src/provider/shm/passed_descriptor.h"

namespace exs::shm {

// The acceptor sends first (its greeting or a refusal), so that its closing loses nothing that it sent.
enum class PacketKind : std::uint32_t {
  kAcceptorGreeting = 1,   // acceptor: version, length_bytes, nonce and addresses; with memfd and doorbell
  kConnectorGreeting = 2,  // connector: likewise
  kRefusal = 3,            // acceptor: no channel; code
  kJoin = 4,               // connector: number (its link's), token
  kJoined = 5,             // acceptor: number (the joiner's), peer_number (its own link's)
  kJoinRefused = 6,        // acceptor: number (the joiner's), code
  kShareRegion = 7,        // key, length_bytes; with the memfd
  kRetractRegion = 8,      // key
  kWakeUp = 9,             // look at the ring
};

// Integers are the host's: both ends run on one machine. What a kind does not use is zero.
struct ControlPacket {
  PacketKind kind{};
  std::uint32_t version = 0;  // greeting
  std::uint32_t number = 0;
  std::uint32_t peer_number = 0;
  std::uint32_t key = 0;
  std::uint32_t code = 0;             // a ReasonCode
  std::uint64_t length_bytes = 0;     // of the segment or region
  std::uint64_t nonce_address = 0;    // greeting: where the sender's memory has `id`,
  std::uint64_t scratch_address = 0;  // and where eight bytes may be written
  RandomId id{};                      // greeting: nonce; join: token
};
static_assert(sizeof(ControlPacket) == 64);

inline constexpr std::size_t kPacketDescriptorsMax = 2;

struct ReceivedPacket {
  ControlPacket packet;
  std::array<PassedDescriptor, kPacketDescriptorsMax> descriptors;  // dropped with the packet
  std::size_t descriptor_count = 0;
};

// EAGAIN: no room now. Never blocks.
Status send_packet(int socket, const ControlPacket& packet, std::span<const int> descriptors = {});
// EAGAIN: none yet. ECONNRESET: the end. EPROTO: no ControlPacket, or one with more descriptors. EMFILE: its descriptors found no place in
// this process.
Result<ReceivedPacket> receive_packet(int socket);

}  // namespace exs::shm
