// What a round may leave nothing of: names of Unix sockets, memory files, descriptors. Thread: the round's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace killing {

// A name with one of the ports in it is still bound; empty: none is.
std::string bound_name(std::uint32_t port, std::uint32_t other_port);
// What a process without connections still has of the layer, but for its family's memory; empty: nothing.
std::string kept_by(pid_t process);

}  // namespace killing
