// Reports what became of a connection. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::sockets {

// Writes one line when a connection ends, if EXS_EXPLAIN=1.
void explain_end(std::uint32_t slot) noexcept;

}  // namespace exs::sockets
