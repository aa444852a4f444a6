// Addresses of nodes. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exs::svc {

// Parses "address", "address:port" or "[address]:port", of IPv4 or IPv6.
std::optional<sockaddr_storage> parse_address(std::string_view text);
socklen_t length_of(const sockaddr_storage& address);
std::uint16_t port_of(const sockaddr_storage& address);
sockaddr_storage with_port(sockaddr_storage address, std::uint16_t port);
// A key that is equal for equal addresses and ports only.
std::string key_of(const sockaddr_storage& address);
// The host alone; an IPv4 address is mapped into IPv6.
using HostBytes = std::array<std::uint8_t, 16>;
HostBytes host_of(const sockaddr_storage& address);
bool is_loopback(const sockaddr_storage& address);
// The address is loopback, or belongs to an interface of this host.
bool is_of_this_host(const sockaddr_storage& address);
// Formats "address:port" or "[address]:port".
std::string text_of(const sockaddr_storage& address);
// Returns the address itself. A wildcard address gives this host's addresses instead: at most as many as a record has room for, loopback
// last.
std::vector<sockaddr_storage> addresses_behind(const sockaddr_storage& listening);

}  // namespace exs::svc
