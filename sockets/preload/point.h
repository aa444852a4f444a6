// An address and a port of either family, as one of IPv6. Thread: any.
#pragma once

#include <sys/socket.h>

#include <cstdint>

namespace exs::sockets {

struct Point {
  std::uint8_t address[16];
  std::uint16_t port;  // of the host's order

  [[nodiscard]] bool is_loopback() const noexcept;
  // A mapped address.
  [[nodiscard]] bool is_ipv4() const noexcept;
  [[nodiscard]] bool operator==(const Point& other) const noexcept;
};

// False: it is of another family.
bool to_point(const sockaddr_storage& name, Point& point) noexcept;
// Of a socket's own end (SYS_getsockname), or its peer's (SYS_getpeername). False: it has none.
bool point_of(long call, int descriptor, Point& point) noexcept;

}  // namespace exs::sockets
