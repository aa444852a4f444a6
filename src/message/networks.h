// The networks that this host is in, for processes of other hosts to reach it by. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>

#include <vector>

#include "base/status.h"

namespace exs {

struct Network {
  in_addr address;  // of this host
  in_addr mask;
  bool has_device;    // its network card is an RDMA device as well
  bool stays_inside;  // a bridge between containers or guests of this host, which leads to no other one
  bool is_running;    // or not yet: the kernel says so a moment after the cable is there

  [[nodiscard]] bool contains(in_addr other) const noexcept {
    return ((address.s_addr ^ other.s_addr) & mask.s_addr) == 0;
  }
};

// The running IPv4 networks, the best first: those that lead out of this host, and of these RDMA devices.
// Excludes the loopback interface.
Result<std::vector<Network>> own_networks();

}  // namespace exs
