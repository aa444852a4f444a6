#include "src/provider/shm/identity.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstring>
#include <string>
#include <string_view>

#include "src/base/bytes.h"
#include "src/base/drive_lock.h"
#include "src/base/kernel.h"
#include "src/base/unique_fd.h"

namespace exs::shm {
namespace {

constexpr std::size_t kHostOffset = 8;
constexpr std::size_t kNamespaceOffset = 24;
constexpr std::size_t kRendezvousOffset = 32;
constexpr std::size_t kTokenOffset = 48;
static_assert(kTokenOffset + sizeof(Name) == Invitation::kBytes);

constexpr const char* kBootIdPath = "/proc/sys/kernel/random/boot_id";
constexpr const char* kNamespacePath = "/proc/thread-self/ns/net";

// 32 hexadecimal digits with dashes among them.
std::optional<Name> parse_boot_id(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != '-' && c != '\n'; });
  Name name{};
  if (digits.size() != 2 * name.size()) return std::nullopt;
  for (std::size_t i = 0; i < name.size(); ++i) {
    std::uint8_t value = 0;
    const char* const at = digits.data() + 2 * i;
    if (std::from_chars(at, at + 2, value, 16).ptr != at + 2) return std::nullopt;
    name[i] = std::byte{value};
  }
  return name;
}

// The kernel's, so it is read once; a failure may be one of this moment.
std::optional<Name> boot_id() {
  static Mutex mutex;
  static std::optional<Name> known;
  const LockGuard guard(mutex);
  if (known) return known;
  const UniqueFd file(kernel::open(kBootIdPath, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  char text[64];
  const ssize_t length = kernel::read(file.get(), text, sizeof text);
  if (length > 0) known = parse_boot_id({text, static_cast<std::size_t>(length)});
  return known;
}

Reason unreadable(const char* path, int error) {
  const bool lacking = error == EMFILE || error == ENFILE;
  return Reason::make(lacking ? ReasonCode::kNoDescriptors : ReasonCode::kNoUnixSocket,
                      "%s cannot be read: %s", path, std::strerror(error));
}

// What is enough to tell two hosts apart by eye.
std::uint32_t start_of(const Name& name) {
  return load_be<std::uint32_t>(name.data());
}

}  // namespace

Result<Name> draw_name() {
  Name name;
  if (kernel::getrandom(name.data(), name.size(), 0) != static_cast<ssize_t>(name.size()))
    return failure(EIO);
  return name;
}

Result<Identity> Identity::of_this_process(Reason& why_not) {
  errno = 0;
  const std::optional<Name> host = boot_id();
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
  std::array<std::byte, kBytes> words{};
  words[0] = std::byte{kVersion};
  std::copy(identity.host.begin(), identity.host.end(), words.begin() + kHostOffset);
  store_be(words.data() + kNamespaceOffset, identity.net_namespace);
  std::copy(rendezvous.begin(), rendezvous.end(), words.begin() + kRendezvousOffset);
  std::copy(token.begin(), token.end(), words.begin() + kTokenOffset);
  return words;
}

std::optional<Invitation> Invitation::decode(std::span<const std::byte> words) {
  if (words.size() != kBytes || words[0] != std::byte{kVersion}) return std::nullopt;
  const auto name_at = [&](std::size_t offset) {
    Name name;
    std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(offset), name.size(), name.begin());
    return name;
  };
  Invitation invitation;
  invitation.identity.host = name_at(kHostOffset);
  invitation.identity.net_namespace = load_be<std::uint64_t>(words.data() + kNamespaceOffset);
  invitation.rendezvous = name_at(kRendezvousOffset);
  invitation.token = name_at(kTokenOffset);
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
