// shm-baseline: hand-overs of a cache line, wake-ups, reads of another process's memory, and copies on one machine without exs. The
// figures bound those of the shm provider.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/exs.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "perf/baselines/shm/methods.h"
#include "perf/support/job.h"
#include "perf/support/modes.h"
#include "perf/support/times.h"
#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/json.h"
#include "tools/common/progress_line.h"
#include "tools/common/run_info.h"
#include "tools/common/units.h"

namespace shm_baseline {
namespace {

using tools::Json;

constexpr int kExitInterrupted = 130;

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

Samples measure(Mode mode, const Settings& settings, tools::ProgressLine& line) {
  switch (mode) {
    case Mode::read: return read_memory(settings, line);
    case Mode::copy: return copy_memory(settings, line);
    default: return hand_over(mode, settings, line);
  }
}

// The time of one operation, to a tenth of a nanosecond.
double us_of(double sample_ns, const Samples& samples) {
  return std::round(sample_ns / samples.operations * 10) / 10'000;
}

perf::Times times_of(const Samples& samples) {
  return perf::times_of(samples.times, [&](double ns) { return us_of(ns, samples); });
}

// The rate at the median time.
double bytes_per_second(const Samples& samples, std::uint64_t size_bytes) {
  const auto median_ns = static_cast<double>(samples.times.percentile_ns(0.5));
  return static_cast<double>(size_bytes) * samples.operations / median_ns *
         static_cast<double>(tools::kNsPerSecond);
}

Json::Object object_of(const ModeTraits& traits, const Settings& settings, const Samples& samples) {
  Json::Object out = tools::begin_results("shm-baseline");
  out.emplace_back("mode", traits.name);
  out.emplace_back("pinned", samples.pinned);
  out.emplace_back("interrupted", tools::interrupted());
  out.emplace_back("samples", samples.times.count());
  if (!traits.moves_bytes) {
    out.emplace_back("one_way_us", json_of(times_of(samples)));
    return out;
  }
  out.emplace_back("size_bytes", settings.size_bytes);
  out.emplace_back("buffers", settings.buffers);
  out.emplace_back("move_us", json_of(times_of(samples)));
  out.emplace_back("bytes_per_second", std::round(bytes_per_second(samples, settings.size_bytes)));
  return out;
}

void print_row(const ModeTraits& traits, const Settings& settings, const Samples& samples) {
  const perf::Times times = times_of(samples);
  std::printf(
      "%-8s %8s %8s %9.3f %9.3f %9.3f %9.3f %11s  %s\n", traits.name,
      traits.moves_bytes ? tools::format_size(settings.size_bytes).c_str() : "-",
      traits.moves_bytes ? std::to_string(settings.buffers).c_str() : "-", times.min, times.p50, times.p99,
      times.max,
      traits.moves_bytes ? tools::format_rate(bytes_per_second(samples, settings.size_bytes)).c_str() : "-",
      traits.summary);
  std::fflush(stdout);
}

void print_head(const Samples& samples) {
  std::printf("shm-baseline %s: %s; a hand-over's time is half a round trip\n", exs_version_string(),
              samples.pinned ? "each process pinned to a core" : "not pinned");
  std::printf("%-8s %8s %8s %9s %9s %9s %9s %11s\n", "mode", "size", "buffers", "min us", "p50 us", "p99 us",
              "max us", "throughput");
}

// Returns the exit status.
int run(const Command& command) {
  Json::Array all;
  tools::ProgressLine line;
  tools::catch_interrupts();
  for (std::size_t i = 0; i < command.modes.size() && !tools::interrupted(); ++i) {
    const ModeTraits& traits = command.modes[i];
    line.begin(traits.name, "samples", {0, command.settings.time_ns});
    const Samples samples = measure(traits.mode, command.settings, line);
    line.clear();
    if (samples.times.count() == 0) continue;
    if (command.json) {
      all.emplace_back(object_of(traits, command.settings, samples));
      continue;
    }
    if (i == 0) print_head(samples);
    print_row(traits, command.settings, samples);
  }
  if (command.json) tools::print_one_or_array(std::move(all));
  return tools::interrupted() ? kExitInterrupted : 0;
}

void check(const Settings& settings) {
  if (settings.size_bytes < 1 || settings.size_bytes > perf::kSizeMaxBytes)
    throw tools::UsageError("--size must be 1 to 1G");
  if (settings.size_bytes * settings.buffers > perf::kBuffersMaxBytes)
    throw tools::UsageError("the buffers of an end take more than 1 GiB");
}

Command parse(int argc, const char* const* argv) {
  Command command;
  Settings& settings = command.settings;
  std::string mode = "all";
  std::string size = "1M";
  double seconds = 1;
  bool no_pin = false;
  tools::CommandLine line("shm-baseline",
                          "hand-overs and moves of bytes between two processes of one machine");
  perf::add_mode_option(line, kModes, mode);
  line.add("--size", size, "Bytes in a move; K, M and G are 2^10, 2^20 and 2^30").shows_default();
  line.add("--buffers", settings.buffers,
           "Buffers at each end, used in turn: what does not fit a cache is slower")
      .between(std::uint64_t{1}, std::uint64_t{4096})
      .shows_default();
  line.add("--time", seconds, "Seconds to measure, each").between(tools::kSecondsMin, 3600.0).shows_default();
  line.add_flag("--json", command.json, "Print one JSON object, or an array of them, in place of a table");
  line.add_flag("--no-pin", no_pin,
                "Leave the choice of cores to the system, instead of one core for each process");
  line.parse(argc, argv);
  command.modes = perf::modes_named(mode, kModes);
  settings.size_bytes = tools::parse_size(size);
  check(settings);
  settings.time_ns = tools::ns_of(seconds);
  settings.pin = !no_pin;
  return command;
}

}  // namespace
}  // namespace shm_baseline

int main(int argc, char** argv) {
  return tools::run_main("shm-baseline", [&] { return shm_baseline::run(shm_baseline::parse(argc, argv)); });
}
