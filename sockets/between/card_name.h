// The name of a caller's card, an abstract Unix socket (preload/meeting/meeting.h). Agents use it, too.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdio>

#include "sockets/between/format.h"

namespace exs::sockets::between {

struct CardName {
  sockaddr_un address{};
  socklen_t length = 0;

  CardName(const Place16& caller, const Place16& called) noexcept {
    address.sun_family = AF_UNIX;
    char* const first = address.sun_path + 1;
    char* end = first + std::snprintf(first, sizeof address.sun_path - 1, "exs-sock/1/");
    end = add(end, caller);
    *end++ = '-';
    end = add(end, called);
    length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(end - first));
  }

 private:
  static char* add(char* end, const Place16& place) noexcept {
    for (const std::uint8_t byte : place.address) end += std::snprintf(end, 3, "%02x", byte);
    return end + std::snprintf(end, 8, ".%u", place.port);
  }
};

}  // namespace exs::sockets::between
