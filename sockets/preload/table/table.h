// The numbers of this process: which connections known to the layer they are.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/preload/table/entries.h"
#include "sockets/preload/table/shares.h"
#include "sockets/preload/table/table_lock.h"

namespace exs::sockets {

// The number is known. A new entry must not replace another one.
void set_entry(int number, std::uint32_t entry) noexcept EXS_REQUIRES(g_table_mutex);
// Only numbers below this may have entries, except hidden ones. Thread: any.
int numbers_known() noexcept;

}  // namespace exs::sockets
