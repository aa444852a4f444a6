// Addresses of nodes, beyond base/socket_address.h. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/socket_address.h"

namespace exs::svc {

using exs::text_of;  // beside those of IDs, capabilities and holders

// A key that is equal for equal addresses and ports only.
std::string key_of(const sockaddr_storage& address);
// The host alone; an IPv4 address is mapped into IPv6.
using HostBytes = std::array<std::uint8_t, 16>;
HostBytes host_of(const sockaddr_storage& address);
// Returns the address itself. A wildcard address gives this host's addresses instead: at most as many as a record has room for, loopback
// last.
std::vector<sockaddr_storage> addresses_behind(const sockaddr_storage& listening);

}  // namespace exs::svc
