// An address and a port of either family, as IPv6. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstdint>

namespace exs::sockets {

struct Point {
  std::uint8_t address[16];
  std::uint16_t port;  // in host order

  [[nodiscard]] bool is_loopback() const noexcept;
  // An IPv4-mapped address.
  [[nodiscard]] bool is_ipv4() const noexcept;
  [[nodiscard]] bool operator==(const Point& other) const noexcept;
};

// False: it is of another family.
bool to_point(const sockaddr_storage& name, Point& point) noexcept;
// The socket's own end (SYS_getsockname) or its peer's (SYS_getpeername). False: it has none.
bool point_of(long call, int descriptor, Point& point) noexcept;

}  // namespace exs::sockets
