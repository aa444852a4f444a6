// shm-baseline: what processes of one machine can do without exs: hand a cache line over, wake each other,
// read each other's memory, copy. The bounds of the shm provider stand beside these figures.
#include <exs/exs.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "perf/baselines/shm/methods.h"
#include "perf/support/options.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/units.h"

namespace shm_baseline {
namespace {

using Json = nlohmann::ordered_json;

struct ModeTraits {
  Mode mode;
  const char* name;
  const char* summary;
  bool moves_bytes;
};
constexpr std::array kModes{
    ModeTraits{Mode::line, "line", "a cache line handed over, both ends looking all the time", false},
    ModeTraits{Mode::futex, "futex", "a futex to sleep on and wake", false},
    ModeTraits{Mode::eventfd, "eventfd", "two eventfds, read and written", false},
    ModeTraits{Mode::read, "read", "process_vm_readv from a process that sleeps", true},
    ModeTraits{Mode::copy, "copy", "memcpy from one memfd's mapping to another's", true},
};

struct Command {
  Settings settings;
  std::vector<ModeTraits> modes;
  bool json = false;
};

Samples measure(Mode mode, const Settings& settings) {
  switch (mode) {
    case Mode::read: return read_memory(settings);
    case Mode::copy: return copy_memory(settings);
    default: return hand_over(mode, settings);
  }
}

// Of one operation, to a tenth of a nanosecond.
double us_of(double sample_ns, const Samples& samples) {
  return std::round(sample_ns / samples.operations * 10) / 10'000;
}

Json times_of(const Samples& samples) {
  const auto us = [&](std::uint64_t ns) { return us_of(static_cast<double>(ns), samples); };
  const tools::Histogram& times = samples.times;
  return {{"min", us(times.min_ns())},
          {"p50", us(times.percentile_ns(0.5))},
          {"p99", us(times.percentile_ns(0.99))},
          {"max", us(times.max_ns())},
          {"mean", us_of(times.mean_ns(), samples)}};
}

// At the median time.
double bytes_per_second(const Samples& samples, std::uint64_t size_bytes) {
  const auto median_ns = static_cast<double>(samples.times.percentile_ns(0.5));
  return static_cast<double>(size_bytes) * samples.operations / median_ns *
         static_cast<double>(tools::kNsPerSecond);
}

Json object_of(const ModeTraits& traits, const Settings& settings, const Samples& samples) {
  Json out{{"tool", "shm-baseline"},
           {"version", exs_version_string()},
           {"mode", traits.name},
           {"pinned", samples.pinned},
           {"samples", samples.times.count()}};
  if (!traits.moves_bytes) {
    out["one_way_us"] = times_of(samples);
    return out;
  }
  out["size_bytes"] = settings.size_bytes;
  out["buffers"] = settings.buffers;
  out["move_us"] = times_of(samples);
  out["bytes_per_second"] = std::round(bytes_per_second(samples, settings.size_bytes));
  return out;
}

void print_row(const ModeTraits& traits, const Settings& settings, const Samples& samples) {
  const Json times = times_of(samples);
  std::printf(
      "%-8s %8s %8s %9.3f %9.3f %9.3f %9.3f %11s  %s\n", traits.name,
      traits.moves_bytes ? tools::size_text(settings.size_bytes).c_str() : "-",
      traits.moves_bytes ? std::to_string(settings.buffers).c_str() : "-", times["min"].get<double>(),
      times["p50"].get<double>(), times["p99"].get<double>(), times["max"].get<double>(),
      traits.moves_bytes ? tools::rate_text(bytes_per_second(samples, settings.size_bytes)).c_str() : "-",
      traits.summary);
  std::fflush(stdout);
}

void run(const Command& command) {
  Json all = Json::array();
  for (std::size_t i = 0; i < command.modes.size(); ++i) {
    const ModeTraits& traits = command.modes[i];
    const Samples samples = measure(traits.mode, command.settings);
    if (command.json) {
      all.push_back(object_of(traits, command.settings, samples));
      continue;
    }
    if (i == 0) {
      std::printf("shm-baseline %s: %s; a hand-over's time is half a round trip\n", exs_version_string(),
                  samples.pinned ? "each process pinned to a core" : "not pinned");
      std::printf("%-8s %8s %8s %9s %9s %9s %9s %11s\n", "mode", "size", "buffers", "min us", "p50 us",
                  "p99 us", "max us", "throughput");
    }
    print_row(traits, command.settings, samples);
  }
  if (command.json) std::puts((all.size() == 1 ? all[0] : all).dump(2).c_str());
}

Command parse(int argc, const char* const* argv) {
  Command command;
  std::string mode = "all";
  std::string size = "1M";
  double seconds = 1;
  bool no_pin = false;
  std::vector<std::string> names{"all"};
  std::string modes_text = "all (default): one after the other";
  for (const ModeTraits& traits : kModes) {
    names.emplace_back(traits.name);
    modes_text += std::string("; ") + traits.name + ": " + traits.summary;
  }
  CLI::App app("shm-baseline: hand-overs and moves of bytes between two processes of one machine",
               "shm-baseline");
  app.set_version_flag("--version", std::string("shm-baseline ") + exs_version_string());
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("shm-baseline: ") + error.what() + " (see --help)\n";
  });
  app.add_option("--mode", mode, modes_text)->check(CLI::IsMember(names));
  app.add_option("--size", size, "Bytes in a move; K, M and G are 2^10, 2^20 and 2^30")
      ->capture_default_str();
  app.add_option("--buffers", command.settings.buffers,
                 "Buffers at each end, used in turn: what does not fit a cache is slower")
      ->check(CLI::Range(1U, 4096U))
      ->capture_default_str();
  app.add_option("--time", seconds, "Seconds to measure, each")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  app.add_flag("--json", command.json, "Print one JSON object, or an array of them, in place of a table");
  app.add_flag("--no-pin", no_pin,
               "Leave the choice of cores to the system, instead of one core for each process");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw tools::Exit{app.exit(error) == 0 ? 0 : 2};
  }
  for (const ModeTraits& traits : kModes) {
    if (mode == "all" || mode == traits.name) command.modes.push_back(traits);
  }
  Settings& settings = command.settings;
  settings.size_bytes = tools::parse_size(size);
  if (settings.size_bytes < 1 || settings.size_bytes > perf::kSizeMaxBytes)
    throw tools::UsageError("--size must be 1 to 1G");
  if (settings.size_bytes * settings.buffers > perf::kBuffersMaxBytes)
    throw tools::UsageError("the buffers of an end take more than 1 GiB");
  settings.time_ns = static_cast<std::uint64_t>(seconds * static_cast<double>(tools::kNsPerSecond));
  settings.pin = !no_pin;
  return command;
}

int run(int argc, const char* const* argv) {
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const tools::Exit& exit) {
    return exit.status;
  } catch (const tools::UsageError& error) {
    std::fprintf(stderr, "shm-baseline: %s (see --help)\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shm-baseline: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace shm_baseline

int main(int argc, char** argv) {
  return shm_baseline::run(argc, argv);
}
