// Big-endian (network order) loads and stores at any alignment.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace exs {

template <typename Integer>
constexpr Integer to_network_order(Integer value) {
  static_assert(std::is_unsigned_v<Integer>);
  if constexpr (std::endian::native == std::endian::big || sizeof(Integer) == 1) return value;
  if constexpr (sizeof(Integer) == 2) return static_cast<Integer>(__builtin_bswap16(value));
  if constexpr (sizeof(Integer) == 4) return static_cast<Integer>(__builtin_bswap32(value));
  if constexpr (sizeof(Integer) == 8) return static_cast<Integer>(__builtin_bswap64(value));
}

template <typename Integer>
Integer load_be(const std::byte* from) {
  Integer value;
  std::memcpy(&value, from, sizeof value);
  return to_network_order(value);
}

template <typename Integer>
void store_be(std::byte* to, Integer value) {
  const Integer swapped = to_network_order(value);
  std::memcpy(to, &swapped, sizeof swapped);
}

}  // namespace exs
