// The mark by which a listening socket tells callers of this host that its process is preloaded: a name in the abstract space of Unix
// sockets, made of its port. Thread: any.
#pragma once

#include <cstdint>

#include "sockets/settings/why.h"

namespace exs::sockets {

// A negative number: another does so already, or it cannot.
int announce_listener(int number) noexcept;
// kNone: who listens at the port is preloaded. `number` is a connection to it.
Why why_not_announced(std::uint16_t port, int number) noexcept;
// A Unix socket of a meeting; a negative number: refused.
int unix_socket(int type) noexcept;

}  // namespace exs::sockets
