// Runs scripts: draws them from a seed, reports a difference, and shortens the failing script.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/sockets/twin/both.h"
#include "tests/sockets/twin/step.h"

namespace twin {

using Environments = std::array<std::vector<std::string>, kWorlds>;

struct Failed {
  Script script;  // up to the differing step
  std::string what;
  std::string story;
};

// Draws a script while it runs; a meaningless step is drawn again. nullopt: no difference.
std::optional<Failed> run_random(std::uint64_t seed, std::size_t steps, const Weights& weights,
                                 const Environments& worlds, Counts& counts);
std::optional<Failed> run_script(const Script& script, const Environments& worlds, Counts& counts);
// Drops steps while the script still fails, in a bounded number of runs.
Failed shorten(const Failed& failed, const Environments& worlds);

}  // namespace twin
