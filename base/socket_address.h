// Addresses of the internet families. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace exs {

// The addresses of a connection.
struct AddressPair {
  sockaddr_storage ours{};
  sockaddr_storage peers{};
};

inline sockaddr* as_sockaddr(sockaddr_storage& address) noexcept {
  return reinterpret_cast<sockaddr*>(&address);
}
inline const sockaddr* as_sockaddr(const sockaddr_storage& address) noexcept {
  return reinterpret_cast<const sockaddr*>(&address);
}

inline const in_addr& v4_host(const sockaddr& address) noexcept {
  return reinterpret_cast<const sockaddr_in&>(address).sin_addr;
}
inline const in6_addr& v6_host(const sockaddr& address) noexcept {
  return reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
}

// 0: of no internet family.
inline socklen_t address_bytes(const sockaddr& address) noexcept {
  switch (address.sa_family) {
    case AF_INET: return sizeof(sockaddr_in);
    case AF_INET6: return sizeof(sockaddr_in6);
    default: return 0;
  }
}

inline socklen_t address_bytes(const sockaddr_storage& address) noexcept {
  return address_bytes(*as_sockaddr(address));
}

inline sockaddr_storage copy_of(const sockaddr& address) noexcept {
  sockaddr_storage copy{};
  std::memcpy(&copy, &address, address_bytes(address));
  return copy;
}

inline sockaddr_storage v4_address(in_addr host, std::uint16_t port) noexcept {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr = host;
  return copy_of(reinterpret_cast<const sockaddr&>(address));
}

// An address of either family, in minimal room.
struct InternetAddress {
  sockaddr_in6 longest{};
};
inline InternetAddress compact(const sockaddr_storage& address) noexcept {
  InternetAddress kept;
  std::memcpy(&kept.longest, &address, sizeof kept.longest);
  return kept;
}
inline sockaddr_storage whole(const InternetAddress& kept) noexcept {
  sockaddr_storage address{};
  std::memcpy(&address, &kept.longest, sizeof kept.longest);
  return address;
}

// In network byte order, at the same place in both families.
inline in_port_t& port_of(sockaddr_storage& address) noexcept {
  return reinterpret_cast<sockaddr_in&>(address).sin_port;
}
inline in_port_t port_of(const sockaddr_storage& address) noexcept {
  return reinterpret_cast<const sockaddr_in&>(address).sin_port;
}

inline std::uint16_t port_number(const sockaddr_storage& address) noexcept {
  return ntohs(port_of(address));
}
inline sockaddr_storage with_port(sockaddr_storage address, std::uint16_t port) noexcept {
  port_of(address) = htons(port);
  return address;
}

// Whatever the ports are, and the scopes.
inline bool is_same_host(const sockaddr& one, const sockaddr& other) noexcept {
  if (one.sa_family != other.sa_family) return false;
  if (one.sa_family == AF_INET) return v4_host(one).s_addr == v4_host(other).s_addr;
  return one.sa_family == AF_INET6 && std::memcmp(&v6_host(one), &v6_host(other), sizeof(in6_addr)) == 0;
}

// The wildcard of its family.
inline bool is_any(const sockaddr& address) noexcept {
  if (address.sa_family == AF_INET) return v4_host(address).s_addr == htonl(INADDR_ANY);
  return IN6_IS_ADDR_UNSPECIFIED(&v6_host(address)) != 0;
}

// The loopback network of its family; an IPv4 address inside an IPv6 one counts as none.
inline bool is_loopback(const sockaddr& address) noexcept {
  constexpr int kNetShift = 24;
  if (address.sa_family == AF_INET) return ntohl(v4_host(address).s_addr) >> kNetShift == IN_LOOPBACKNET;
  return IN6_IS_ADDR_LOOPBACK(&v6_host(address)) != 0;
}

inline bool is_loopback(const sockaddr_storage& address) noexcept {
  return is_loopback(*as_sockaddr(address));
}

// The address belongs to this host. Asks the kernel's routes, a few system calls; sends nothing.
[[nodiscard]] bool is_own_address(const sockaddr& address) noexcept;

// Reads "address", "address:port", "[address]" or "[address]:port", of either family, in digits alone. Without a port it is 0.
[[nodiscard]] std::optional<sockaddr_storage> parse_address(std::string_view text) noexcept;
// "10.0.0.2:9000" or "[::1]:9000"; "" for other families, and without memory for it.
[[nodiscard]] std::string text_of(const sockaddr_storage& address) noexcept;
// Likewise for the peer of a connected descriptor; "unknown peer" if the kernel does not know it either.
[[nodiscard]] std::string name_of_peer(int descriptor) noexcept;

}  // namespace exs
