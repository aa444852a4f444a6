// Runs scripts: makes them up from a seed, tells a difference, and shortens the script that shows it.
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
  Script script;  // up to the step that differs
  std::string what;
  std::string story;
};

// Makes up a script while it runs: a step that means nothing is drawn again. nullopt: no difference.
std::optional<Failed> run_random(std::uint64_t seed, std::size_t steps, const Weights& weights,
                                 const Environments& worlds, Counts& counts);
std::optional<Failed> run_script(const Script& script, const Environments& worlds, Counts& counts);
// Drops steps while it still fails, with a bounded number of runs.
Failed shorten(const Failed& failed, const Environments& worlds);

}  // namespace twin
