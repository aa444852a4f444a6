// TCP connections of this host, as the kernel tells of them. Thread: any.
#pragma once

#include <sys/types.h>

#include <optional>

#include "sockets/between/format.h"

namespace agent {

using exs::sockets::between::Place16;

// The user whose socket has these addresses, of a connection; none: there is no such connection.
std::optional<uid_t> owner_of(const Place16& own, const Place16& peer);

}  // namespace agent
