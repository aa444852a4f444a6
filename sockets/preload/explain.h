// What became of a connection, in words. Thread: any.
#pragma once

#include <cstdint>

namespace exs::sockets {

// One line when a connection ends, if EXS_EXPLAIN=1 asks for it.
void explain_end(std::uint32_t slot) noexcept;

}  // namespace exs::sockets
