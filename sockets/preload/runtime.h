// The layer's settings in this process. Thread: any, after the constructor.
#pragma once

#include "sockets/settings/settings.h"

namespace exs::sockets {

const Settings& settings() noexcept;
// Reads the environment and the configuration.
void read_settings() noexcept;
// The process notes no connection from now on.
void switch_off() noexcept;

}  // namespace exs::sockets
