// The numbers that a seed yields: splitmix64, the same on every machine.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::sim {

inline constexpr std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

// Thread: the owner's.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) noexcept : state_(mixed(seed)) {}

  std::uint64_t next() noexcept { return mixed(state_ += 0x9e3779b97f4a7c15U); }
  // From 0 to `end` - 1; `end` is not 0.
  std::uint64_t below(std::uint64_t end) noexcept { return next() % end; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) noexcept {
    return most <= least ? least : least + below(most - least + 1);
  }

 private:
  std::uint64_t state_;
};

}  // namespace exs::sim
