// What a simulation does, as EXS_PROVIDER=sim:NAME=VALUE,... says it. README.md and exs-sim(7) describe each.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/provider/sim/chance.h"

namespace exs::sim {

struct Settings {
  std::uint64_t seed = 1;
  bool virtual_clock = true;
  std::uint64_t tick_ns = 1'000;  // how far a look at the clock moves it
  std::uint64_t delay_min_ns = 1'000;
  std::uint64_t delay_max_ns = 20'000;
  std::uint64_t pause_ns = 1'000'000;  // how long `slow` and `starve` last
  std::uint64_t down_ns = 10'000'000;  // how long a listener that died is away
  bool reorder = true;                 // completions of different kinds overtake each other
  bool report = false;                 // a line on standard error at the end
  Chance late{4, true};                // a send or read at once is not possible now
  Chance lose;                         // a step loses its link
  Chance die;                          // a step loses all links of its listener, which goes away for a while
  Chance slow;                         // a step delays all that is under way to its end
  Chance starve;                       // a step delays the messages under way to its end
  Chance pieces;                       // a read arrives in pieces
  Chance nomem;                        // a call of the protocol finds no memory
  Chance interrupt;                    // a sleep ends as if by a signal
};

// Reads the text behind "sim:". Returns what is wrong with it, in words; empty: nothing is.
std::string read_settings(std::string_view text, Settings& into);

}  // namespace exs::sim
