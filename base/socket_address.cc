// SPDX-License-Identifier: BSD-2-Clause
#include "base/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>

#include "base/kernel.h"
#include "base/unique_fd.h"

namespace exs {
namespace {

constexpr std::uint16_t kAnyPort = 9;  // 0 is not to be had everywhere

// An IPv4 address inside an IPv6 one, as what it is.
sockaddr_storage unmapped(const sockaddr& address) noexcept {
  if (address.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6_host(address))) return copy_of(address);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  std::memcpy(&v4.sin_addr, &v6_host(address).s6_addr[12], sizeof v4.sin_addr);
  return copy_of(reinterpret_cast<const sockaddr&>(v4));
}

// Unlike other addresses of its own, the host answers all of these from one.
bool is_loopback_or_any(const sockaddr& address) noexcept {
  const sockaddr_storage plain = unmapped(address);
  return is_loopback(*as_sockaddr(plain)) || is_any(*as_sockaddr(plain));
}

// The text of an address and of its port. A text with one colon has a port; one with more is an IPv6 address alone.
struct Parts {
  std::string_view host;
  std::optional<std::string_view> port;
};

std::optional<Parts> split(std::string_view text) noexcept {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return {};
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return {};
    return Parts{text.substr(1, end - 1), rest.empty() ? std::nullopt : std::optional(rest.substr(1))};
  }
  if (std::count(text.begin(), text.end(), ':') != 1) return Parts{text, {}};
  const std::size_t colon = text.find(':');
  return Parts{text.substr(0, colon), text.substr(colon + 1)};
}

bool parse_port(std::string_view digits, std::uint16_t& port) noexcept {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return error == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

std::optional<sockaddr_storage> parse_address(std::string_view text) noexcept {
  const std::optional<Parts> parts = split(text);
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (!parts || parts->host.size() >= host.size()) return {};
  parts->host.copy(host.data(), parts->host.size());
  sockaddr_storage address{};
  if (::inet_pton(AF_INET, host.data(), &reinterpret_cast<sockaddr_in&>(address).sin_addr) == 1) {
    address.ss_family = AF_INET;
  } else if (::inet_pton(AF_INET6, host.data(), &reinterpret_cast<sockaddr_in6&>(address).sin6_addr) == 1) {
    address.ss_family = AF_INET6;
  } else {
    return {};
  }
  std::uint16_t port = 0;
  if (parts->port && !parse_port(*parts->port, port)) return {};
  return with_port(address, port);
}

// Packets to an address of its own the host sends from that very address.
bool is_own_address(const sockaddr& address) noexcept {
  if (address_bytes(address) == 0) return false;
  if (is_loopback_or_any(address)) return true;
  sockaddr_storage peer = copy_of(address);
  port_of(peer) = htons(kAnyPort);
  const UniqueFd socket(kernel::socket(address.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage ours{};
  socklen_t length = sizeof ours;
  return socket.valid() && kernel::connect(socket.get(), as_sockaddr(peer), address_bytes(address)) == 0 &&
         kernel::getsockname(socket.get(), as_sockaddr(ours), &length) == 0 &&
         is_same_host(*as_sockaddr(ours), *as_sockaddr(peer));
}

std::string text_of(const sockaddr_storage& address) noexcept try {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const socklen_t length = address_bytes(*as_sockaddr(address));
  if (length == 0 || ::getnameinfo(as_sockaddr(address), length, host, sizeof host, port, sizeof port,
                                   NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "";
  const bool is_v6 = address.ss_family == AF_INET6;
  return (is_v6 ? "[" : "") + std::string(host) + (is_v6 ? "]:" : ":") + port;
} catch (const std::bad_alloc&) {
  return {};
}

std::string name_of_peer(int descriptor) noexcept {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  const bool is_known = kernel::getpeername(descriptor, as_sockaddr(address), &length) == 0;
  std::string name = is_known ? text_of(address) : std::string();
  if (name.empty()) name = "unknown peer";  // short enough to need no memory
  return name;
}

}  // namespace exs
