// Telling lengths: none, few bytes, about a ring of 4 KiB, and others.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace twin {

inline std::uint64_t length_of(std::uint32_t number) {
  const std::uint32_t choice = number % 16;
  const std::uint32_t rest = number / 16;
  if (choice < 9) return rest % 65;
  if (choice < 12) return rest % 1500;
  if (choice < 14) return 4086 + rest % 21;
  if (choice < 15) return rest % 8000;
  return rest % 2;
}

// The due number, about that number, or any number.
inline std::uint64_t received_length_of(std::uint32_t number, std::uint64_t due) {
  const std::uint32_t choice = number % 8;
  const std::uint32_t rest = number / 8;
  if (choice < 2) return due;
  if (choice < 3) return due + rest % 3;
  if (choice < 4) return due > 0 ? rest % due : 1;
  if (choice < 7) return length_of(rest);
  return rest % 20001;
}

}  // namespace twin
