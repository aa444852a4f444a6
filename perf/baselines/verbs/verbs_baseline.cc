// verbs-baseline: what an RDMA device does between two processes of one machine without exs: SENDs there and
// back, and READs. The bounds of the verbs provider stand beside these figures.
#include <arpa/inet.h>
#include <exs/exs.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "perf/baselines/verbs/methods.h"
#include "perf/support/options.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/units.h"

namespace verbs_baseline {
namespace {

using Json = nlohmann::ordered_json;

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
  std::string size;  // empty: the mode's own
  std::vector<ModeTraits> modes;
  bool json = false;
};

double us_of(double round_trip_ns) {
  return std::round(round_trip_ns / 2) / 1000;
}

Json times_of(const tools::Histogram& round_trips) {
  const auto us = [](std::uint64_t ns) { return us_of(static_cast<double>(ns)); };
  return {{"min", us(round_trips.min_ns())},
          {"p50", us(round_trips.percentile_ns(0.5))},
          {"p99", us(round_trips.percentile_ns(0.99))},
          {"max", us(round_trips.max_ns())},
          {"mean", us_of(round_trips.mean_ns())}};
}

double seconds_of(const Result& result) {
  return static_cast<double>(result.wall_ns) / static_cast<double>(tools::kNsPerSecond);
}

double bytes_per_second(const Settings& settings, const Result& result) {
  return static_cast<double>(settings.size_bytes * result.operations) / seconds_of(result);
}

Json object_of(const ModeTraits& traits, const Settings& settings, const Result& result) {
  Json out{{"tool", "verbs-baseline"},
           {"version", exs_version_string()},
           {"mode", traits.name},
           {"device", result.device},
           {"wait", settings.busy ? "busy" : "notify"},
           {"pinned", result.pinned},
           {"size_bytes", settings.size_bytes},
           {"messages", result.operations},
           {"seconds", seconds_of(result)}};
  if (result.round_trips) {
    out["inline"] = result.is_inline;
    out["one_way_us"] = times_of(*result.round_trips);
  } else {
    out["depth"] = settings.depth;
    out["bytes_per_second"] = std::round(bytes_per_second(settings, result));
  }
  return out;
}

void print_row(const ModeTraits& traits, const Settings& settings, const Result& result) {
  std::printf("%-5s %8s on %s, %s: ", traits.name, tools::size_text(settings.size_bytes).c_str(),
              result.device.c_str(), settings.busy ? "both ends polling" : "both ends sleeping");
  if (result.round_trips) {
    const Json times = times_of(*result.round_trips);
    std::printf("one way %.2f us (p50; min %.2f, p99 %.2f), %s round trips%s\n", times["p50"].get<double>(),
                times["min"].get<double>(), times["p99"].get<double>(),
                tools::count_text(static_cast<double>(result.operations)).c_str(),
                result.is_inline ? ", inline" : "");
  } else {
    std::printf("%s, %s READs, %u under way\n", tools::rate_text(bytes_per_second(settings, result)).c_str(),
                tools::count_text(static_cast<double>(result.operations)).c_str(), settings.depth);
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
  Json all = Json::array();
  for (const ModeTraits& traits : command.modes) {
    const Settings settings = settings_for(traits, command);
    const Result result = traits.mode == Mode::ping ? ping(settings) : read(settings);
    command.json ? all.push_back(object_of(traits, settings, result)) : print_row(traits, settings, result);
  }
  if (command.json) std::puts((all.size() == 1 ? all[0] : all).dump(2).c_str());
}

Command parse(int argc, const char* const* argv) {
  Command command;
  std::string mode = "all";
  std::string wait = "notify";
  double seconds = 1;
  bool no_pin = false;
  std::vector<std::string> names{"all"};
  std::string modes_text = "all (default): one after the other";
  for (const ModeTraits& traits : kModes) {
    names.emplace_back(traits.name);
    modes_text += std::string("; ") + traits.name + ": " + traits.summary;
  }
  command.settings.depth = 8;
  CLI::App app("verbs-baseline: SENDs and READs of an RDMA device between two processes of one machine",
               "verbs-baseline");
  app.set_version_flag("--version", std::string("verbs-baseline ") + exs_version_string());
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("verbs-baseline: ") + error.what() + " (see --help)\n";
  });
  app.add_option("--bind", command.settings.address, "IP address of this machine that an RDMA device carries")
      ->type_name("ADDRESS")
      ->required();
  app.add_option("--mode", mode, modes_text)->check(CLI::IsMember(names));
  app.add_option("--size", command.size,
                 "Bytes in a message; K, M and G are 2^10, 2^20 and 2^30. Default 64, of a read 1M");
  app.add_option("--depth", command.settings.depth, "READs under way, each with a buffer of its own")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str();
  app.add_option("--wait", wait,
                 "notify: ends sleep on completion channels. busy: they poll, and need a core each")
      ->check(CLI::IsMember({"notify", "busy"}))
      ->capture_default_str();
  app.add_option("--time", seconds, "Seconds to measure, each mode")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  app.add_flag("--json", command.json, "Print one JSON object, or an array of them, in place of lines");
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
  if (!is_address(command.settings.address))
    throw tools::UsageError("--bind: \"" + command.settings.address + "\" is no IP address");
  command.settings.busy = wait == "busy";
  command.settings.time_ns = static_cast<std::uint64_t>(seconds * static_cast<double>(tools::kNsPerSecond));
  command.settings.pin = !no_pin;
  return command;
}

int run(int argc, const char* const* argv) {
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const tools::Exit& exit) {
    return exit.status;
  } catch (const tools::UsageError& error) {
    std::fprintf(stderr, "verbs-baseline: %s (see --help)\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "verbs-baseline: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace verbs_baseline

int main(int argc, char** argv) {
  return verbs_baseline::run(argc, argv);
}
