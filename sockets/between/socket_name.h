// An address in the form for socket calls. Thread: immutable value.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "sockets/between/format.h"

namespace exs::sockets::between {

class SocketName {
 public:
  explicit SocketName(const Place16& place) noexcept {
    static constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::memcmp(place.address, kMapped, sizeof kMapped) == 0) {
      auto& v4 = reinterpret_cast<sockaddr_in&>(storage_);
      v4.sin_family = AF_INET;
      v4.sin_port = htons(place.port);
      std::memcpy(&v4.sin_addr, place.address + sizeof kMapped, sizeof v4.sin_addr);
    } else {
      auto& v6 = reinterpret_cast<sockaddr_in6&>(storage_);
      v6.sin6_family = AF_INET6;
      v6.sin6_port = htons(place.port);
      std::memcpy(&v6.sin6_addr, place.address, sizeof v6.sin6_addr);
    }
  }
  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] const sockaddr* address() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage_);
  }
  [[nodiscard]] socklen_t length() const noexcept {
    return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  }

 private:
  sockaddr_storage storage_{};
};

// The port of a name of either family, in host order.
inline std::uint16_t port_of(const sockaddr_storage& name) noexcept {
  return ntohs(name.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(name).sin_port
                                         : reinterpret_cast<const sockaddr_in6&>(name).sin6_port);
}

}  // namespace exs::sockets::between
