// An address and a port of either family, as one of IPv6. Thread: any.
#pragma once

#include <cstdint>

namespace exs::sockets {

struct Point {
  std::uint8_t address[16];
  std::uint16_t port;  // of the host's order

  [[nodiscard]] bool is_loopback() const noexcept;
  [[nodiscard]] bool operator==(const Point& other) const noexcept;
};

// Of a socket's own end (SYS_getsockname), or its peer's (SYS_getpeername). False: it has none.
bool point_of(long call, int descriptor, Point& point) noexcept;

}  // namespace exs::sockets
