#include "event/session/address.h"

#include <netinet/in.h>

#include <cstdint>
#include <cstring>

#include "src/base/kernel.h"
#include "src/base/unique_fd.h"

namespace exs {
namespace {

// Unlike other addresses of its own, the host answers all of these from one.
bool is_loopback_or_any(const in_addr& address) {
  const std::uint32_t host = ntohl(address.s_addr);
  return host >> 24 == IN_LOOPBACKNET || host == INADDR_ANY;
}

bool is_loopback_or_any(const in6_addr& address) {
  if (!IN6_IS_ADDR_V4MAPPED(&address))
    return IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address);
  in_addr mapped{};
  std::memcpy(&mapped, &address.s6_addr[12], sizeof mapped);
  return is_loopback_or_any(mapped);
}

}  // namespace

socklen_t address_bytes(const sockaddr& address) noexcept {
  return address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

// Packets to an address of its own the host sends from that very address.
bool is_own_address(const sockaddr& address) noexcept {
  if (address.sa_family != AF_INET && address.sa_family != AF_INET6) return false;
  sockaddr_storage peer{};
  std::memcpy(&peer, &address, address_bytes(address));
  auto& peer4 = reinterpret_cast<sockaddr_in&>(peer);
  auto& peer6 = reinterpret_cast<sockaddr_in6&>(peer);
  const bool is_v4 = address.sa_family == AF_INET;
  if (is_v4 ? is_loopback_or_any(peer4.sin_addr) : is_loopback_or_any(peer6.sin6_addr)) return true;
  (is_v4 ? peer4.sin_port : peer6.sin6_port) = htons(9);  // any; 0 is not to be had everywhere

  const UniqueFd socket(kernel::socket(address.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage ours{};
  socklen_t length = sizeof ours;
  if (!socket.valid() ||
      kernel::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), address_bytes(address)) != 0 ||
      kernel::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&ours), &length) != 0)
    return false;
  if (is_v4) return reinterpret_cast<sockaddr_in&>(ours).sin_addr.s_addr == peer4.sin_addr.s_addr;
  return std::memcmp(&reinterpret_cast<sockaddr_in6&>(ours).sin6_addr, &peer6.sin6_addr, sizeof(in6_addr)) ==
         0;
}

}  // namespace exs
