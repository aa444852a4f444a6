// Options of a connection: what the program has set and what the lane needs are two things. Thread: any.
#pragma once

#include <sys/socket.h>

#include <cstdint>

namespace exs::sockets {

// Makes of TCP's value what the program has set.
void correct_option(std::uint32_t slot, int level, int name, void* value, socklen_t length) noexcept;
// False: it is remembered, and must not be set now.
bool before_option(int number, std::uint32_t slot, int level, int name, const void* value,
                   socklen_t length) noexcept;
void after_option(int number, std::uint32_t slot, int level, int name, const void* value,
                  socklen_t length) noexcept;

}  // namespace exs::sockets
