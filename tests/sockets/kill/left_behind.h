// Leftovers that a round must not have: names of Unix sockets, memory files, descriptors. Thread: the
// round's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace killing {

// Returns a bound name with one of the ports in it; empty: there is none.
std::string bound_name(std::uint32_t port, std::uint32_t other_port);
// Returns what a process without connections still has of the layer, except its family's memory; empty:
// nothing.
std::string kept_by(pid_t process);

}  // namespace killing
