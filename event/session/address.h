// Addresses of the internet families. Thread: any.
#pragma once

#include <sys/socket.h>

namespace exs {

// The addresses of a connection.
struct Ends {
  sockaddr_storage ours{};
  sockaddr_storage peers{};
};

// Those of its family.
[[nodiscard]] socklen_t address_bytes(const sockaddr& address) noexcept;
// Whether it is one of this host's own. Asks the kernel's routes, a few system calls; sends nothing.
[[nodiscard]] bool is_own_address(const sockaddr& address) noexcept;

}  // namespace exs
