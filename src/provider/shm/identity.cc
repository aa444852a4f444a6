// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/identity.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/hex.h"
#include "base/kernel.h"
#include "base/lazy.h"
#include "base/random.h"
#include "base/unique_fd.h"

namespace exs::shm {
namespace {

constexpr std::size_t kHostOffset = 8;
constexpr std::size_t kNamespaceOffset = 24;
constexpr std::size_t kSocketIdOffset = 32;
constexpr std::size_t kTokenOffset = 48;
static_assert(kTokenOffset + sizeof(RandomId) == Invitation::kBytes);

constexpr const char* kBootIdPath = "/proc/sys/kernel/random/boot_id";
constexpr const char* kNamespacePath = "/proc/thread-self/ns/net";

// 32 hexadecimal digits with dashes among them.
std::optional<RandomId> parse_boot_id(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != '-' && c != '\n'; });
  RandomId id{};
  return read_hex(digits, id) ? std::optional(id) : std::nullopt;
}

// The kernel's, so it is read once; a failure may be one of this moment. Two threads may both read it.
constinit Lazy<const RandomId> known_boot_id;

std::optional<RandomId> boot_id() {
  if (const RandomId* const known = known_boot_id.made()) return *known;
  const UniqueFd file(kernel::open(kBootIdPath, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  char text[64];
  const ssize_t length = kernel::read(file.get(), text, sizeof text);
  if (length <= 0) return std::nullopt;
  const std::optional<RandomId> id = parse_boot_id({text, static_cast<std::size_t>(length)});
  if (id) known_boot_id.get([&] { return std::make_unique<const RandomId>(*id); });
  return id;
}

Reason unreadable(const char* path, int error) {
  const bool lacking = error == EMFILE || error == ENFILE;
  return Reason::make(lacking ? ReasonCode::kNoDescriptors : ReasonCode::kNoUnixSocket,
                      "%s cannot be read: %s", path, std::strerror(error));
}

// Enough bits to tell two hosts apart by eye.
std::uint32_t start_of(const RandomId& id) {
  return load_be<std::uint32_t>(id.data());
}

}  // namespace

Result<RandomId> random_id() {
  return draw<RandomId>();
}

Result<Identity> Identity::of_this_process(Reason& why_not) {
  errno = 0;
  const std::optional<RandomId> host = boot_id();
  if (!host) {
    why_not = unreadable(kBootIdPath, errno);
    return failure(ENOTSUP);
  }
  struct stat net {};
  if (kernel::stat(kNamespacePath, &net) != 0) {
    why_not = unreadable(kNamespacePath, errno);
    return failure(ENOTSUP);
  }
  return Identity{*host, net.st_ino};
}

std::array<std::byte, Invitation::kBytes> Invitation::encode() const {
  std::array<std::byte, kBytes> bytes{};
  bytes[0] = std::byte{kVersion};
  std::copy(identity.host.begin(), identity.host.end(), bytes.begin() + kHostOffset);
  store_be(bytes.data() + kNamespaceOffset, identity.net_namespace);
  std::copy(socket_id.begin(), socket_id.end(), bytes.begin() + kSocketIdOffset);
  std::copy(token.begin(), token.end(), bytes.begin() + kTokenOffset);
  return bytes;
}

std::optional<Invitation> Invitation::decode(std::span<const std::byte> bytes) {
  if (bytes.size() != kBytes || bytes[0] != std::byte{kVersion}) return std::nullopt;
  const auto id_at = [&](std::size_t offset) {
    RandomId id;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), id.size(), id.begin());
    return id;
  };
  Invitation invitation;
  invitation.identity.host = id_at(kHostOffset);
  invitation.identity.net_namespace = load_be<std::uint64_t>(bytes.data() + kNamespaceOffset);
  invitation.socket_id = id_at(kSocketIdOffset);
  invitation.token = id_at(kTokenOffset);
  return invitation;
}

bool within_reach(const Identity& ours, const Identity& peers, Reason& why_not) {
  if (ours.host != peers.host) {
    why_not =
        Reason::make(ReasonCode::kOtherHost, "the peer's boot id begins with %08x, this host's with %08x",
                     start_of(peers.host), start_of(ours.host));
    return false;
  }
  if (ours.net_namespace != peers.net_namespace) {
    why_not = Reason::make(ReasonCode::kOtherNetns,
                           "the peer is in network namespace %" PRIu64 ", this process in %" PRIu64,
                           peers.net_namespace, ours.net_namespace);
    return false;
  }
  return true;
}

Result<Credentials> Credentials::of_peer(int socket) {
  ucred found{};
  socklen_t length = sizeof found;
  if (kernel::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &found, &length) != 0) return failure(errno);
  return Credentials{found.pid, found.uid};
}

}  // namespace exs::shm
