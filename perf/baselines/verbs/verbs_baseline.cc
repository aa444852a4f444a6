// verbs-baseline: SENDs there and back, and READs, by an RDMA device between two processes of one machine without exs. The figures bound
// those of the verbs provider.
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <exs/exs.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "perf/baselines/verbs/methods.h"
#include "perf/support/job.h"
#include "perf/support/modes.h"
#include "perf/support/times.h"
#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"
#include "tools/common/units.h"

namespace verbs_baseline {
namespace {

using tools::Json;

constexpr std::uint64_t kReadMaxBytes = std::uint64_t{1} << 30U;

struct ModeTraits {
  Mode mode;
  const char* name;
  const char* size;
  const char* summary;
};
constexpr std::array kModes{
    ModeTraits{Mode::ping, "ping", "64", "SEND there and back, one message under way"},
    ModeTraits{Mode::read, "read", "1M", "READs by one end, --depth under way"},
};

struct Command {
  Settings settings;
  std::string size;  // empty: the mode's default
  std::vector<ModeTraits> modes;
  bool json = false;
};

double us_of(double round_trip_ns) {
  return std::round(round_trip_ns / 2) / 1000;
}

double bytes_per_second(const Settings& settings, const Result& result) {
  return static_cast<double>(settings.size_bytes * result.operations) / tools::seconds_of(result.wall_ns);
}

Json::Object object_of(const ModeTraits& traits, const Settings& settings, const Result& result) {
  Json::Object out = tools::begin_results("verbs-baseline");
  out.emplace_back("mode", traits.name);
  out.emplace_back("device", result.device);
  out.emplace_back("wait", settings.busy ? "busy" : "notify");
  out.emplace_back("pinned", result.pinned);
  out.emplace_back("size_bytes", settings.size_bytes);
  out.emplace_back("messages", result.operations);
  out.emplace_back("seconds", tools::seconds_of(result.wall_ns));
  if (result.round_trips) {
    out.emplace_back("inline", result.is_inline);
    out.emplace_back("one_way_us", json_of(perf::times_of(*result.round_trips, us_of)));
  } else {
    out.emplace_back("depth", settings.depth);
    out.emplace_back("bytes_per_second", std::round(bytes_per_second(settings, result)));
  }
  return out;
}

void print_row(const ModeTraits& traits, const Settings& settings, const Result& result) {
  std::printf("%-5s %8s on %s, %s: ", traits.name, tools::format_size(settings.size_bytes).c_str(),
              result.device.c_str(), settings.busy ? "both ends polling" : "both ends sleeping");
  if (result.round_trips) {
    const perf::Times times = perf::times_of(*result.round_trips, us_of);
    std::printf("one way %.2f us (p50; min %.2f, p99 %.2f), %s round trips%s\n", times.p50, times.min,
                times.p99, tools::format_count(static_cast<double>(result.operations)).c_str(),
                result.is_inline ? ", inline" : "");
  } else {
    std::printf("%s, %s READs, %u under way\n",
                tools::format_rate(bytes_per_second(settings, result)).c_str(),
                tools::format_count(static_cast<double>(result.operations)).c_str(), settings.depth);
  }
  std::fflush(stdout);
}

bool is_address(const std::string& text) {
  in6_addr either{};
  return inet_pton(AF_INET, text.c_str(), &either) == 1 || inet_pton(AF_INET6, text.c_str(), &either) == 1;
}

Settings settings_for(const ModeTraits& traits, const Command& command) {
  Settings settings = command.settings;
  settings.size_bytes = tools::parse_size(command.size.empty() ? traits.size : command.size);
  if (settings.size_bytes < 1 || settings.size_bytes > kReadMaxBytes)
    throw tools::UsageError("--size must be 1 to 1G");
  if (settings.size_bytes * settings.depth > perf::kBuffersMaxBytes)
    throw tools::UsageError("the buffers of an end take more than 1 GiB");
  return settings;
}

void run(const Command& command) {
  for (const ModeTraits& traits : command.modes) settings_for(traits, command);
  Json::Array all;
  for (const ModeTraits& traits : command.modes) {
    const Settings settings = settings_for(traits, command);
    const Result result = traits.mode == Mode::ping ? ping(settings) : read(settings);
    if (command.json) {
      all.emplace_back(object_of(traits, settings, result));
    } else {
      print_row(traits, settings, result);
    }
  }
  if (command.json) tools::print_one_or_array(std::move(all));
}

Command parse(int argc, const char* const* argv) {
  Command command;
  Settings& settings = command.settings;
  std::string mode = "all";
  std::string wait = "notify";
  double seconds = 1;
  bool no_pin = false;
  settings.depth = 8;
  tools::CommandLine line("verbs-baseline",
                          "SENDs and READs of an RDMA device between two processes of one machine");
  line.add("--bind", settings.address, "IP address of this machine that an RDMA device carries")
      .value_name("ADDRESS")
      .required();
  perf::add_mode_option(line, kModes, mode);
  line.add("--size", command.size,
           "Bytes in a message; K, M and G are 2^10, 2^20 and 2^30. Default 64, of a read 1M");
  line.add("--depth", settings.depth, "READs under way, each with a buffer of its own")
      .between(std::uint64_t{1}, std::uint64_t{64})
      .shows_default();
  line.add("--wait", wait, "notify: ends sleep on completion channels. busy: they poll, and need a core each")
      .one_of({"notify", "busy"})
      .shows_default();
  line.add("--time", seconds, "Seconds to measure, each mode")
      .between(tools::kSecondsMin, 3600.0)
      .shows_default();
  line.add_flag("--json", command.json, "Print one JSON object, or an array of them, in place of lines");
  line.add_flag("--no-pin", no_pin,
                "Leave the choice of cores to the system, instead of one core for each process");
  line.parse(argc, argv);
  command.modes = perf::modes_named(mode, kModes);
  if (!is_address(settings.address))
    throw tools::UsageError("--bind: \"" + settings.address + "\" is no IP address");
  settings.busy = wait == "busy";
  settings.time_ns = tools::ns_of(seconds);
  settings.pin = !no_pin;
  return command;
}

}  // namespace
}  // namespace verbs_baseline

int main(int argc, char** argv) {
  return tools::run_main("verbs-baseline", [&] {
    verbs_baseline::run(verbs_baseline::parse(argc, argv));
    return 0;
  });
}
