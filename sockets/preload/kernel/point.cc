// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/kernel/point.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {

bool Point::is_loopback() const noexcept {
  static constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  static constexpr std::uint8_t kLoopback[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return std::memcmp(address, kMapped, sizeof kMapped) == 0 ||
         std::memcmp(address, kLoopback, sizeof kLoopback) == 0;
}

bool Point::is_ipv4() const noexcept {
  static constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(address, kMapped, sizeof kMapped) == 0;
}

bool Point::operator==(const Point& other) const noexcept {
  return port == other.port && std::memcmp(address, other.address, sizeof address) == 0;
}

bool to_point(const sockaddr_storage& name, Point& point) noexcept {
  std::memset(&point, 0, sizeof point);
  if (name.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(name);
    point.address[10] = point.address[11] = 0xff;
    std::memcpy(point.address + 12, &v4.sin_addr, 4);
    point.port = ntohs(v4.sin_port);
    return true;
  }
  if (name.ss_family != AF_INET6) return false;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(name);
  std::memcpy(point.address, &v6.sin6_addr, 16);
  point.port = ntohs(v6.sin6_port);
  return true;
}

bool point_of(long call, int descriptor, Point& point) noexcept {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  return raw::sys(call, descriptor, &name, &length) == 0 && to_point(name, point);
}

}  // namespace exs::sockets
