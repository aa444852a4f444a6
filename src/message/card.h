// What a process of a job publishes of itself, and what the others make of it: where it listens. Thread: any.
//
// A card is words: HOST PORT ADDRESS..., where HOST tells processes of one host and network namespace from others, and up to four
// addresses of IPv4 are those of its network interfaces, RDMA devices first. Within a job of one host there are none.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace exs {

// Where a process listens before it publishes its card: any port, of all interfaces if others are elsewhere.
sockaddr_storage listening_address(bool has_other_hosts) noexcept;

// The card of this process, which listens at that port.
Result<std::string> make_card(std::uint16_t port, bool has_other_hosts);

// The addresses of all, by rank, as this process reaches them: by the loopback interface within its host; else by an address that is in a
// network of its own, or by the first. An empty card, of a process that has ended, has none. EPROTO: a card means nothing, or that of
// another host has no address.
Result<std::vector<sockaddr_storage>> addresses_on(const std::vector<std::string>& cards);

}  // namespace exs
