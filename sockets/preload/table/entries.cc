// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table/entries.h"

namespace exs::sockets {

constinit std::atomic<std::uint32_t> g_first_numbers[kFirstNumbers];
constinit Chunks<std::atomic<std::uint32_t>, kNumbers, kNumbersPerChunk> g_numbers;

}  // namespace exs::sockets
