// Tests whether the program still has the memory that it gave to an operation.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/kernel.h"

namespace exs {

// One short system call, whatever the length: MS_ASYNC writes nothing, and finds holes. True for memory whose
// rights have been taken away. Thread: any.
inline bool is_still_mapped(std::span<const std::byte> memory) noexcept {
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t into_page = first & (page_bytes - 1);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): pages are found by number
  auto* const page = reinterpret_cast<void*>(first - into_page);
  return kernel::msync(page, memory.size() + into_page, MS_ASYNC) == 0 || errno != ENOMEM;
}

}  // namespace exs
