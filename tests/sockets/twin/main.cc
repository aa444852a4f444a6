// sockets-twin: random scripts of socket calls, run by plain processes and by processes with a library preloaded. Results,
// errno, bytes and readiness must be the same at each step.
// SPDX-License-Identifier: BSD-2-Clause
#include <getopt.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "tests/sockets/twin/actor.h"
#include "tests/sockets/twin/run.h"

namespace twin {
namespace {

struct Settings {
  std::string library;
  std::string set;
  std::string broken;  // the deliberate fault that must be found
  std::uint64_t seed = 1;
  std::uint64_t steps = 5000;
  std::size_t script_steps = 60;
  std::uint64_t differences_max = 1;
  std::string script;
  Weights weights = default_weights();
  bool only_plain = false;
  bool is_attentive = false;
  bool tells_progress = false;
  bool shortens = true;
};

constexpr double kToldSeconds = 0.3;

constexpr const char* kHelp =
    "sockets-twin: random scripts of socket calls, with and without a library preloaded\n"
    "  --library PATH       the library\n"
    "  --only-plain         both worlds are plain: the harness itself must find nothing\n"
    "  --set 'k=v,...'      EXS_SOCKETS in the layered world\n"
    "  --break KIND         TWIN_BREAK in the layered world; exit 0 if a difference is found, 1 if not\n"
    "  --attentive          who waits for its next step sleeps in a poll of its connections\n"
    "  --seed N             of the first script (1); the next scripts have the next numbers\n"
    "  --steps N            in all (5000)\n"
    "  --script-steps N     of a script (60)\n"
    "  --differences N      stop after so many (1)\n"
    "  --only KINDS         of steps, with commas; --without KINDS: all but these\n"
    "  --script 'STEPS'     runs this one script, as told with a difference\n"
    "  --no-shorten         tell the script as it was\n"
    "  --progress           a line every 1000 scripts\n";

[[noreturn]] void refuse(const std::string& why) {
  std::cerr << "sockets-twin: " << why << '\n';
  std::exit(2);
}

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0') refuse(std::string("not a number: ") + text);
  return value;
}

// --only keeps connect and accept, which every other kind needs.
void choose_kinds(Weights& weights, const std::string& names, bool only) {
  const Weights all = default_weights();
  if (only) {
    weights.fill(0);
    for (const Kind kind : {Kind::connect, Kind::accept, Kind::warm_up})
      weights[static_cast<std::size_t>(kind)] = all[static_cast<std::size_t>(kind)];
  }
  std::istringstream words(names);
  for (std::string word; std::getline(words, word, ',');) {
    const std::optional<Kind> kind = kind_of(word);
    if (!kind) refuse("no kind of step: " + word);
    weights[static_cast<std::size_t>(*kind)] = only ? all[static_cast<std::size_t>(*kind)] : 0;
  }
}

Settings settings_of(int argc, char** argv) {
  enum {
    kLibrary = 256,
    kPlain,
    kSet,
    kBreak,
    kSeed,
    kSteps,
    kScriptSteps,
    kDifferences,
    kOnly,
    kWithout,
    kScript,
    kNoShorten,
    kProgress,
    kAttentive,
    kUsage
  };
  const option options[] = {{"library", 1, nullptr, kLibrary},
                            {"only-plain", 0, nullptr, kPlain},
                            {"set", 1, nullptr, kSet},
                            {"break", 1, nullptr, kBreak},
                            {"seed", 1, nullptr, kSeed},
                            {"steps", 1, nullptr, kSteps},
                            {"script-steps", 1, nullptr, kScriptSteps},
                            {"differences", 1, nullptr, kDifferences},
                            {"only", 1, nullptr, kOnly},
                            {"without", 1, nullptr, kWithout},
                            {"script", 1, nullptr, kScript},
                            {"no-shorten", 0, nullptr, kNoShorten},
                            {"progress", 0, nullptr, kProgress},
                            {"attentive", 0, nullptr, kAttentive},
                            {"help", 0, nullptr, kUsage},
                            {nullptr, 0, nullptr, 0}};
  Settings settings;
  for (int choice = 0; (choice = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
    switch (choice) {
      case kLibrary: settings.library = optarg; break;
      case kPlain: settings.only_plain = true; break;
      case kSet: settings.set = optarg; break;
      case kBreak: settings.broken = optarg; break;
      case kSeed: settings.seed = number(optarg); break;
      case kSteps: settings.steps = number(optarg); break;
      case kScriptSteps: settings.script_steps = number(optarg); break;
      case kDifferences: settings.differences_max = number(optarg); break;
      case kOnly: choose_kinds(settings.weights, optarg, true); break;
      case kWithout: choose_kinds(settings.weights, optarg, false); break;
      case kScript: settings.script = optarg; break;
      case kNoShorten: settings.shortens = false; break;
      case kAttentive: settings.is_attentive = true; break;
      case kProgress: settings.tells_progress = true; break;
      case kUsage: std::cout << kHelp; std::exit(0);
      default: refuse("--help tells the options");
    }
  }
  if (settings.library.empty() == !settings.only_plain) refuse("either --library or --only-plain");
  return settings;
}

Environments worlds_of(const Settings& settings) {
  Environments worlds;
  if (settings.is_attentive)
    for (std::vector<std::string>& world : worlds) world.emplace_back("TWIN_ATTENTIVE=1");
  if (settings.only_plain) return worlds;
  worlds[1].push_back("LD_PRELOAD=" + settings.library);
  if (!settings.set.empty()) worlds[1].push_back("EXS_SOCKETS=" + settings.set);
  if (!settings.broken.empty()) worlds[1].push_back("TWIN_BREAK=" + settings.broken);
  return worlds;
}

void tell(const Failed& failed, const std::string& seed, const Settings& settings,
          const Environments& worlds) {
  std::cout << "DIFFERENCE, " << seed << ", step " << failed.script.size() << ": " << failed.what
            << "\nwhat was done last:\n"
            << failed.story;
  const Failed shortest = settings.shortens ? shorten(failed, worlds) : failed;
  if (settings.shortens)
    std::cout << "\nshortened to " << shortest.script.size() << " steps: " << shortest.what << '\n'
              << shortest.story;
  std::cout << "\nto see it again: --script '" << text_of(shortest.script) << "'\n\n" << std::flush;
}

void tell(const Counts& counts, std::uint64_t differences) {
  std::cout << counts.steps << " steps in " << counts.scripts << " scripts, " << differences
            << " differences\n";
  std::cout << "calls:";
  for (const auto& [name, count] : counts.calls) std::cout << ' ' << name << '=' << count;
  std::cout << "\nsteps:";
  for (const auto& [name, count] : counts.kinds) std::cout << ' ' << name << '=' << count;
  std::cout << "\nmost time in:";
  for (const auto& [name, seconds] : counts.seconds)
    if (seconds > kToldSeconds) std::cout << ' ' << name << '=' << seconds << " s";
  std::cout << "\nshort receives: plain " << counts.short_receives[0] << ", layered "
            << counts.short_receives[1] << "; edges told by the layered world alone: " << counts.more_edges[1]
            << "; asked again: " << counts.asked_again << '\n';
}

std::uint64_t run_all(const Settings& settings, const Environments& worlds, Counts& counts) {
  std::uint64_t differences = 0;
  for (std::uint64_t seed = settings.seed;
       counts.steps < settings.steps && differences < settings.differences_max; ++seed) {
    if (const auto failed = run_random(seed, settings.script_steps, settings.weights, worlds, counts)) {
      ++differences;
      if (settings.broken.empty())
        tell(*failed, "seed " + std::to_string(seed), settings, worlds);
      else
        std::cout << "found, seed " << seed << ", step " << failed->script.size() << ": " << failed->what
                  << '\n';
    }
    if (settings.tells_progress && counts.scripts % 1000 == 0)
      std::cout << counts.steps << " steps, " << differences << " differences\n" << std::flush;
  }
  return differences;
}

int run(const Settings& settings) {
  const Environments worlds = worlds_of(settings);
  Counts counts;
  std::uint64_t differences = 0;
  if (settings.script.empty()) {
    differences = run_all(settings, worlds, counts);
  } else {
    const std::optional<Script> script = script_of(settings.script);
    if (!script) refuse("that is no script");
    if (const auto failed = run_script(*script, worlds, counts)) {
      ++differences;
      tell(*failed, "the script", settings, worlds);
    }
  }
  tell(counts, differences);
  return (differences == 0) == settings.broken.empty() ? 0 : 1;
}

}  // namespace
}  // namespace twin

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--actor") == 0)
    return twin::run_actor(std::atoi(argv[2]), std::atoi(argv[3]));
  // Orphans of an actor become children of this process.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return twin::run(twin::settings_of(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "sockets-twin: " << error.what() << '\n';
    return 2;
  }
}
