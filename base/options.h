// Options that a program passes in a struct of a C interface. The first member, struct_bytes, is the size that the program was compiled with.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace exs {

// Copies the members that both releases know to `options`; the others keep their defaults. NULL: all of them do. Returns false if
// struct_bytes is not set. Thread: any.
template <typename Options>
[[nodiscard]] bool read_options(const Options* given, Options& options) noexcept {
  static_assert(std::is_trivially_copyable_v<Options> && offsetof(Options, struct_bytes) == 0);
  if (given == nullptr) return true;
  if (given->struct_bytes < sizeof given->struct_bytes) return false;
  std::memcpy(&options, given, std::min<std::size_t>(given->struct_bytes, sizeof options));
  return true;
}

}  // namespace exs
