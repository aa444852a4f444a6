// The network interface of each port of each RDMA device, by the kernel's word over netlink: /sys names it
// for RoCE alone, and for iWARP since Linux 6.5.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <string>
#include <utility>

namespace exs::verbs {

// (device, port) -> interface. Empty where the kernel has no RDMA, or does not say. Blocks for no peer.
std::map<std::pair<std::string, unsigned>, std::string> port_interfaces();

}  // namespace exs::verbs
