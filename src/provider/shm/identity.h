// Who a process is to its host, and what an invitation tells the peer of it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "src/base/status.h"
#include "src/provider/reason.h"

namespace exs::shm {

using Name = std::array<std::byte, 16>;

// EIO: the kernel gives no random bytes.
Result<Name> draw_name();

// Where a process is. Thread: immutable value.
struct Identity {
  Name host{};                      // the kernel's boot identity
  std::uint64_t net_namespace = 0;  // inode; abstract sockets are found within one only

  // `why_not` tells when /proc does not.
  static Result<Identity> of_this_process(Reason& why_not);
};

// An invitation in bytes, big-endian:
//   0 version (1)  1 zero (7)  8 host (16)  24 network namespace (8)  32 rendezvous (16)  48 token (16)
struct Invitation {
  static constexpr std::size_t kBytes = 64;
  static constexpr std::uint8_t kVersion = 1;

  Identity identity;
  Name rendezvous{};  // of the port that invites
  Name token{};       // of this invitation alone

  [[nodiscard]] std::array<std::byte, kBytes> encode() const;
  // Nothing: not an invitation that this version understands.
  static std::optional<Invitation> decode(std::span<const std::byte> words);
};

// Whether the peer of that identity can be reached; `why_not` tells when not.
bool within_reach(const Identity& ours, const Identity& peers, Reason& why_not);

// The process at the other end of a Unix socket, as the kernel vouches for it.
struct Credentials {
  pid_t pid = 0;  // 0: in a PID namespace that this process cannot see into
  uid_t uid = 0;

  static Result<Credentials> of_peer(int socket);
};

}  // namespace exs::shm
