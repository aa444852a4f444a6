// TCP connections of this host, as the kernel lists them. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <optional>

#include "sockets/between/format.h"

namespace agent {

using exs::sockets::between::Place16;

// Returns the user that owns the connection's socket with these addresses, or nothing if there is none.
std::optional<uid_t> owner_of(const Place16& own, const Place16& peer);

}  // namespace agent
