// memcpy() of any length, at its usual speed wherever the memory lies. The processor's own copy, to which the C library leaves long ones,
// takes up to forty times as long on AMD's Zen 3 and 4 if the target lies 1 to 31 bytes further into its page than the source. That is so
// between a page and long memory of malloc().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace exs {

inline void long_copy(void* to, const void* from, std::size_t bytes) noexcept {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kAhead = 64;
  constexpr std::size_t kShort = 2048;  // copied by loads and stores
  const std::size_t further =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage;
  if (bytes <= kShort || further == 0 || further >= kAhead) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += kShort)
    std::memcpy(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at,
                std::min(kShort, bytes - at));
}

}  // namespace exs
