// Random bytes of the kernel, for keys and tokens that nobody may guess.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "base/kernel.h"
#include "base/status.h"

namespace exs {

// EIO: the kernel has none, which happens only if it refuses the call. Waits in the first moments after the machine's start. Thread: any.
inline Status fill_randomly(std::span<std::byte> bytes) noexcept {
  const bool is_filled =
      kernel::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  return is_filled ? Status() : Status(EIO);
}

template <typename T>
requires std::is_trivially_copyable_v<T> Result<T> draw()
noexcept {
  T value{};
  if (const Status filled = fill_randomly(std::as_writable_bytes(std::span(&value, 1))); !filled.ok())
    return failure(filled);
  return value;
}

}  // namespace exs
