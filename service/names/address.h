// Addresses of nodes. Thread: any.
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

// "address", "address:port", "[address]:port" of IPv4 or IPv6.
std::optional<sockaddr_storage> parse_address(std::string_view text);
socklen_t length_of(const sockaddr_storage& address);
std::uint16_t port_of(const sockaddr_storage& address);
sockaddr_storage with_port(sockaddr_storage address, std::uint16_t port);
// Those of one node and no other, as a key.
std::string key_of(const sockaddr_storage& address);
// The host alone, an IPv4 one as IPv6 maps it.
using HostBytes = std::array<std::uint8_t, 16>;
HostBytes host_of(const sockaddr_storage& address);
bool is_loopback(const sockaddr_storage& address);
// Loopback, or an address of an interface here.
bool is_of_this_host(const sockaddr_storage& address);
// "address:port" or "[address]:port".
std::string text_of(const sockaddr_storage& address);
// The address itself, or if it stands for all of this host, those: at most as many as a record has, loopback last.
std::vector<sockaddr_storage> addresses_behind(const sockaddr_storage& listening);

}  // namespace exs::svc
