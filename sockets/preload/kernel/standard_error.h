// The one place from which the layer writes on the standard error of a program that did not ask for it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace exs::sockets {

// Writes what standard error takes at once; the rest is lost. It neither blocks nor ends the program. A connection as standard
// error gets nothing. Thread: any; also in a signal handler.
void write_to_standard_error(const char* line, std::size_t length) noexcept;

}  // namespace exs::sockets
