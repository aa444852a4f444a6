// When a fault comes: never, at the n-th step, or by chance.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "src/provider/sim/draws.h"

namespace exs::sim {

struct Chance {
  std::uint64_t number = 0;  // 0: never
  bool is_odds = false;      // one in `number`; else at step `number` alone

  [[nodiscard]] bool comes(std::uint64_t step, Draws& draws) const noexcept {
    if (number == 0) return false;
    return is_odds ? draws.below(number) == 0 : step == number;
  }
};

}  // namespace exs::sim
