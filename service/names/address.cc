// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "service/names/record.h"

namespace exs::svc {
namespace {

sockaddr_in& ip4(sockaddr_storage& address) {
  return reinterpret_cast<sockaddr_in&>(address);
}
sockaddr_in6& ip6(sockaddr_storage& address) {
  return reinterpret_cast<sockaddr_in6&>(address);
}

in_port_t& port_in(sockaddr_storage& address) {
  return address.ss_family == AF_INET ? ip4(address).sin_port : ip6(address).sin6_port;
}

bool parse_port(std::string_view text, in_port_t& port) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  port = htons(number);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_all_of_host(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == INADDR_ANY;
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

bool is_link_local(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

}  // namespace

std::optional<sockaddr_storage> parse_address(std::string_view text) {
  sockaddr_storage address{};
  std::string host(text);
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return {};
    host = text.substr(1, end - 1);
    if (end + 1 < text.size() && text[end + 1] != ':') return {};
    if (end + 1 < text.size()) port = text.substr(end + 2);
    if (end + 1 < text.size() && port.empty()) return {};
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':') + 1);
    if (port.empty()) return {};
  }
  if (::inet_pton(AF_INET, host.c_str(), &ip4(address).sin_addr) == 1) {
    address.ss_family = AF_INET;
  } else if (::inet_pton(AF_INET6, host.c_str(), &ip6(address).sin6_addr) == 1) {
    address.ss_family = AF_INET6;
  } else {
    return {};
  }
  if (!port.empty() && !parse_port(port, port_in(address))) return {};
  return address;
}

std::string text_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> host{};
  const bool is_ip4 = address.ss_family == AF_INET;
  const void* const bytes =
      is_ip4 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
             : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  ::inet_ntop(address.ss_family, bytes, host.data(), host.size());
  const std::string port = ":" + std::to_string(port_of(address));
  return is_ip4 ? host.data() + port : "[" + std::string(host.data()) + "]" + port;
}

socklen_t length_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

std::uint16_t port_of(const sockaddr_storage& address) {
  sockaddr_storage copy = address;
  return ntohs(port_in(copy));
}

sockaddr_storage with_port(sockaddr_storage address, std::uint16_t port) {
  port_in(address) = htons(port);
  return address;
}

std::string key_of(const sockaddr_storage& address) {
  const auto* const bytes = reinterpret_cast<const char*>(&address);
  if (address.ss_family == AF_INET) return {bytes, offsetof(sockaddr_in, sin_addr) + sizeof(in_addr)};
  return {bytes, offsetof(sockaddr_in6, sin6_addr) + sizeof(in6_addr)};
}

HostBytes host_of(const sockaddr_storage& address) {
  HostBytes host{};
  if (address.ss_family == AF_INET6) {
    std::memcpy(host.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, host.size());
  } else {
    host[10] = host[11] = 0xff;
    std::memcpy(&host[12], &reinterpret_cast<const sockaddr_in&>(address).sin_addr, sizeof(in_addr));
  }
  return host;
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

bool is_of_this_host(const sockaddr_storage& address) {
  if (is_loopback(address)) return true;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return false;
  bool is_here = false;
  for (const ifaddrs* one = all; one != nullptr && !is_here; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != address.ss_family) continue;
    sockaddr_storage here{};
    std::memcpy(&here, one->ifa_addr, length_of(address));
    is_here = host_of(here) == host_of(address);
  }
  ::freeifaddrs(all);
  return is_here;
}

std::vector<sockaddr_storage> addresses_behind(const sockaddr_storage& listening) {
  if (!is_all_of_host(listening)) return {listening};
  std::vector<sockaddr_storage> found;
  std::vector<sockaddr_storage> loopback;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != listening.ss_family ||
        (one->ifa_flags & IFF_UP) == 0)
      continue;
    sockaddr_storage address{};
    std::memcpy(&address, one->ifa_addr, length_of(listening));
    if (is_link_local(address)) continue;
    sockaddr_storage port = listening;
    port_in(address) = port_in(port);
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : found).push_back(address);
  }
  ::freeifaddrs(all);
  found.insert(found.end(), loopback.begin(), loopback.end());
  if (found.size() > kAddressesMax) found.resize(kAddressesMax);
  return found;
}

}  // namespace exs::svc
