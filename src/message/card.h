// The card that a process of a job publishes, and its use by the others: it has the place where the process
// listens. Thread: any.
//
// A card has words: HOST PORT ADDRESS... HOST identifies the host and network namespace. Up to four ADDRESSes
// are IPv4 addresses of network interfaces, RDMA devices first. In a job of one host there are none.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace exs {

// The place to listen before the card is published: any port, on all interfaces if others are on other hosts.
sockaddr_storage listening_address(bool has_other_hosts) noexcept;

// The card of this process, which listens at that port.
Result<std::string> make_card(std::uint16_t port, bool has_other_hosts);

// The addresses of all ranks, by rank, as this process reaches them. Inside its host this is the loopback
// interface. Otherwise it is an address in a network of this process, or the first one. An empty card, of a
// process that has ended, has none. EPROTO: a card is malformed, or one of another host has no address.
Result<std::vector<sockaddr_storage>> addresses_on(const std::vector<std::string>& cards);

}  // namespace exs
