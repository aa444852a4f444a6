// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/run.h"

#include <chrono>

#include "tests/sockets/twin/stage.h"

namespace twin {
namespace {

constexpr int kDrawsMax = 400;
constexpr std::size_t kStoryLines = 60;
constexpr std::chrono::seconds kShorteningMax{90};

using Clock = std::chrono::steady_clock;

void count(Counts& counts, const Step& step, Clock::time_point since) {
  ++counts.steps;
  counts.seconds[std::string(name_of(step.kind))] +=
      std::chrono::duration<double>(Clock::now() - since).count();
  ++counts.kinds[std::string(name_of(step.kind))];
}

Failed failed_at(const Script& script, const std::string& what, const Stage& stage) {
  return {script, what, stage.story(kStoryLines)};
}

}  // namespace

std::optional<Failed> run_random(std::uint64_t seed, std::size_t steps, const Weights& weights,
                                 const Environments& worlds, Counts& counts) {
  ++counts.scripts;
  std::mt19937_64 random(seed);
  Stage stage(worlds, counts);
  Script script;
  // The first steps are likely to make a connection, from either side.
  Weights beginning = {};
  for (const Kind kind : {Kind::connect, Kind::accept, Kind::warm_up})
    beginning[static_cast<std::size_t>(kind)] = weights[static_cast<std::size_t>(kind)];
  constexpr std::size_t kBeginning = 4;
  for (int draws = 0; script.size() < steps && draws < kDrawsMax; ++draws) {
    const Step step =
        random_step(random, script.size() < kBeginning && draws < kDrawsMax / 2 ? beginning : weights);
    script.push_back(step);
    const Clock::time_point since = Clock::now();
    try {
      if (!stage.perform(step)) {
        script.pop_back();
        continue;
      }
    } catch (const Difference& difference) {
      return failed_at(script, difference.what, stage);
    }
    draws = 0;
    count(counts, step, since);
  }
  return std::nullopt;
}

std::optional<Failed> run_script(const Script& script, const Environments& worlds, Counts& counts) {
  ++counts.scripts;
  Stage stage(worlds, counts);
  for (std::size_t i = 0; i < script.size(); ++i) {
    try {
      const Clock::time_point since = Clock::now();
      if (stage.perform(script[i])) count(counts, script[i], since);
    } catch (const Difference& difference) {
      return failed_at(Script(script.begin(), script.begin() + static_cast<std::ptrdiff_t>(i) + 1),
                       difference.what, stage);
    }
  }
  return std::nullopt;
}

Failed shorten(const Failed& failed, const Environments& worlds) {
  const auto end = Clock::now() + kShorteningMax;
  Failed best = failed;
  Counts unused;
  for (std::size_t chunk = best.script.size() / 2; chunk > 0;) {
    bool is_shorter = false;
    for (std::size_t at = 0; at < best.script.size() && Clock::now() < end;) {
      Script shorter = best.script;
      const auto from = shorter.begin() + static_cast<std::ptrdiff_t>(at);
      shorter.erase(from, from + static_cast<std::ptrdiff_t>(std::min(chunk, shorter.size() - at)));
      std::optional<Failed> still = run_script(shorter, worlds, unused);
      if (still) {
        best = std::move(*still);
        is_shorter = true;
      } else {
        at += chunk;
      }
    }
    if (!is_shorter || chunk > 1) chunk /= 2;
    if (Clock::now() >= end) break;
  }
  return best;
}

}  // namespace twin
