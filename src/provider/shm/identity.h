// The identity of a process on its host, and the part that an invitation carries to the peer.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "src/provider/reason.h"

namespace exs::shm {

// Drawn at random, here or by the kernel: no two are the same.
using RandomId = std::array<std::byte, 16>;

// EIO: the kernel gives no random bytes.
Result<RandomId> random_id();

// The place where a process runs. Thread: immutable value.
struct Identity {
  RandomId host{};                  // the kernel's boot identity
  std::uint64_t net_namespace = 0;  // inode; abstract sockets are found within one only

  // ENOTSUP: /proc cannot be read; `why_not` has the reason.
  static Result<Identity> of_this_process(Reason& why_not);
};

// The initiator's message to the responder over the network's provider. In bytes, big-endian:
//   0 version (1)  1 zero (7)  8 host (16)  24 network namespace (8)  32 socket (16)  48 token (16)
struct Invitation {
  static constexpr std::size_t kBytes = 64;
  static constexpr std::uint8_t kVersion = 1;

  Identity identity;
  RandomId socket_id{};  // the listening socket of the port that invites
  RandomId token{};      // of this invitation alone

  [[nodiscard]] std::array<std::byte, kBytes> encode() const;
  // Nothing: no invitation that this version understands.
  static std::optional<Invitation> decode(std::span<const std::byte> bytes);
};

// The peer of that identity can be reached. Otherwise `why_not` has the reason.
bool within_reach(const Identity& ours, const Identity& peers, Reason& why_not);

// The process at the other end of a Unix socket, as the kernel vouches for it.
struct Credentials {
  pid_t pid = 0;  // 0: in a PID namespace that this process cannot see into
  uid_t uid = 0;

  static Result<Credentials> of_peer(int socket);
};

}  // namespace exs::shm
