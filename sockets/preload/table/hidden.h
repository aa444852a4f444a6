// The layer's own descriptors, which the program must not notice. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace exs::sockets {

// Moves the descriptor away from the numbers that programs expect, marks it, and returns its new number. That
// number is above RLIMIT_NOFILE where the process may raise the limit. The program then loses no numbers to
// the layer.
int hide(int descriptor) noexcept;
// False: the program has few numbers and would miss those that the layer takes.
bool may_hide() noexcept;
void close_hidden(int descriptor) noexcept;

// The process may have a memfd of that size. Beyond RLIMIT_FSIZE the kernel would raise a signal.
bool may_make_file(std::size_t bytes) noexcept;

}  // namespace exs::sockets
