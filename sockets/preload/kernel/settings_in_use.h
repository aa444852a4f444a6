// The settings of this process: the environment, the configuration, and what has been switched since. Thread: any, after
// the constructor.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/settings/settings.h"

namespace exs::sockets {

const SocketsSettings& settings() noexcept;
// Reads the environment and the configuration.
void read_settings() noexcept;
// The process notes its connections from now on. Rules that switch the program off still keep them with TCP.
void follow_connections() noexcept;
// The process notes no connection from now on.
void switch_off() noexcept;

}  // namespace exs::sockets
