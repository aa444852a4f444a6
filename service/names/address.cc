// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/address.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/kernel.h"
#include "service/names/record.h"

namespace exs::svc {
namespace {

bool is_link_local(const sockaddr& address) {
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6_host(address));
}

}  // namespace

std::string key_of(const sockaddr_storage& address) {
  const auto* const bytes = reinterpret_cast<const char*>(&address);
  if (address.ss_family == AF_INET) return {bytes, offsetof(sockaddr_in, sin_addr) + sizeof(in_addr)};
  return {bytes, offsetof(sockaddr_in6, sin6_addr) + sizeof(in6_addr)};
}

HostBytes host_of(const sockaddr_storage& address) {
  constexpr std::size_t kMappedAt = 12;
  HostBytes host{};
  if (address.ss_family == AF_INET6) {
    std::memcpy(host.data(), &v6_host(*as_sockaddr(address)), host.size());
  } else {
    host[kMappedAt - 2] = host[kMappedAt - 1] = 0xff;
    std::memcpy(&host[kMappedAt], &v4_host(*as_sockaddr(address)), sizeof(in_addr));
  }
  return host;
}

std::vector<sockaddr_storage> addresses_behind(const sockaddr_storage& listening) {
  if (!is_any(*as_sockaddr(listening))) return {listening};
  std::vector<sockaddr_storage> found;
  std::vector<sockaddr_storage> loopback;
  ifaddrs* all = nullptr;
  if (kernel::getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> freed(all, ::freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != listening.ss_family ||
        (one->ifa_flags & IFF_UP) == 0 || is_link_local(*one->ifa_addr))
      continue;
    const sockaddr_storage address = with_port(copy_of(*one->ifa_addr), port_number(listening));
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : found).push_back(address);
  }
  found.insert(found.end(), loopback.begin(), loopback.end());
  if (found.size() > kAddressesMax) found.resize(kAddressesMax);
  return found;
}

}  // namespace exs::svc
