// Socket options of a connection. The program's values may differ from those that the lane needs. Thread:
// any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstdint>

namespace exs::sockets {

// Replaces TCP's value by the program's.
void correct_option(std::uint32_t slot, int level, int name, void* value, socklen_t length) noexcept;
// False: the value is remembered and must not be set now.
bool before_option(int number, std::uint32_t slot, int level, int name, const void* value,
                   socklen_t length) noexcept;
void after_option(int number, std::uint32_t slot, int level, int name, const void* value,
                  socklen_t length) noexcept;

}  // namespace exs::sockets
