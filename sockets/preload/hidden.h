// Descriptors of the layer's own, which the program does not know to be open. Thread: any.
#pragma once

#include <cstddef>

namespace exs::sockets {

// Moves it out of the way of the numbers that programs expect, and marks it; its number from now on. That is above RLIMIT_NOFILE where
// the process may raise that, so that the program gets as many as without us.
int hide(int descriptor) noexcept;
// False: the program has few numbers, and would miss those that we keep.
bool may_hide() noexcept;
void close_hidden(int descriptor) noexcept;

// A memfd may have that size: where RLIMIT_FSIZE says no, making it would raise a signal.
bool may_make_file(std::size_t bytes) noexcept;

}  // namespace exs::sockets
