// Socket addresses, as far as the provider looks into them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

namespace exs::verbs {

// The wildcard of its family.
inline bool is_any(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == htonl(INADDR_ANY);
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr) != 0;
}

}  // namespace exs::verbs
