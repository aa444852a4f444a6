// exs-explain reports what this machine allows exs to do, why a connection uses its provider, or which way the bytes of unmodified
// programs take.
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <exs/exs.hpp>
#include <string>

#include "base/setting_names.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/sockets.h"
#include "tools/common/svg.h"
#include "tools/common/watch.h"
#include "tools/explain/connection.h"
#include "tools/explain/machine.h"
#include "tools/explain/report.h"
#include "tools/explain/sockets_map.h"
#include "tools/explain/sockets_report.h"
#include "tools/explain/sockets_survey.h"

namespace explain {
namespace {

struct Settings {
  std::string target;  // empty: this machine, or all processes
  std::string provider;
  double limit_seconds = 5;
  bool sockets = false;
  bool map = false;
  bool watch = false;
  std::string svg;    // the file for a drawing; empty: none
  pid_t process = 0;  // 0: all
  bool json = false;
};

pid_t parse_process(const std::string& word) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), pid);
  if (error != std::errc() || end != word.data() + word.size() || pid <= 0)
    throw tools::UsageError("\"" + word + "\" is not the number of a process");
  return pid;
}

Settings parse(int argc, const char* const* argv) {
  Settings settings;
  tools::CommandLine line("exs-explain",
                          "what this machine can do for exs, or why connections go the way they go");
  line.add("target", settings.target,
           "HOST:PORT of an exs server, or a PID with --sockets; without it: this machine");
  const tools::Option provider = line.add(
      "--provider", settings.provider, "As the option EXS_SO_PROVIDER: auto, prefer:X, require:X, forbid:X");
  const tools::Option limit =
      line.add("--timeout", settings.limit_seconds, "Seconds that the connect may take")
          .between(tools::kSecondsMin, 3600.0)
          .shows_default();
  line.add_flag(
      "--sockets", settings.sockets,
      "The TCP connections of a running program that has the sockets layer, PID, or of all such programs");
  line.add_flag("--map", settings.map,
                "With --sockets: print one line for each pair of ends: their ways, bytes and reasons");
  line.add("--svg", settings.svg, "With --sockets: draw this map to FILE (SVG), or to the output if it is -")
      .value_name("FILE");
  line.add_flag("--watch", settings.watch, "With --sockets: print again each second, until SIGINT");
  line.add_flag("--json", settings.json, "Print one JSON object in place of text");
  line.parse(argc, argv);
  if (settings.sockets && !settings.target.empty()) settings.process = parse_process(settings.target);
  if (!settings.sockets && (settings.map || !settings.svg.empty() || settings.watch))
    throw tools::UsageError("--map, --svg and --watch belong to --sockets");
  if (settings.map + settings.json + !settings.svg.empty() > 1)
    throw tools::UsageError("give one of --map, --svg and --json");
  if ((settings.target.empty() || settings.sockets) && (provider.is_given() || limit.is_given()))
    throw tools::UsageError("--provider and --timeout belong to a connection: give HOST:PORT");
  if (tools::is_simulated(settings.provider))
    throw tools::UsageError(
        "--provider sim: a simulated network ends with its process, so no server of it is reached from here "
        "(exs-sim(7))");
  return settings;
}

std::string providers_of_build() {
  const exs::cpp::Library library;
  return exs::cpp::Library::limits().providers;
}

int explain_machine(const Settings& settings) {
  Machine machine{check_machine(), {}};
  machine.providers = providers_of_build();
  print(machine, settings.json);
  return is_usable(machine) ? 0 : 1;
}

int explain_connection(const Settings& settings) {
  constexpr double kMsPerSecond = 1000;
  constexpr int kExitInterrupted = 130;
  Target target = parse_target(settings.target);
  target.provider = settings.provider;
  target.limit_ms = static_cast<int>(settings.limit_seconds * kMsPerSecond);
  tools::catch_interrupts();
  const ConnectResult connected = connect_to(target);
  print(connected, settings.target, settings.json);
  if (connected.error == EINTR) return kExitInterrupted;
  return connected.error == 0 ? 0 : 1;
}

int print_sockets(const Settings& settings) {
  const SocketsSurvey survey = survey_sockets(settings.process);
  if (settings.map)
    print(map_of(survey));
  else if (!settings.svg.empty())
    tools::write_file(settings.svg, drawing_of(map_of(survey)));
  else
    print(survey, settings.json);
  return std::any_of(survey.processes.begin(), survey.processes.end(),
                     [](const SocketsProcess& process) { return process.is_served; })
             ? 0
             : 1;
}

int explain_sockets(const Settings& settings) {
  // The library would report this, but it is not used here.
  if (const std::string words = exs::words_about_unknown_settings(environ); !words.empty())
    std::fprintf(stderr, "exs-explain: %s\n", words.c_str());
  if (settings.watch) return tools::watch([&] { print_sockets(settings); });
  return print_sockets(settings);
}

int run(const Settings& settings) {
  if (settings.sockets) return explain_sockets(settings);
  return settings.target.empty() ? explain_machine(settings) : explain_connection(settings);
}

}  // namespace
}  // namespace explain

int main(int argc, char** argv) {
  return tools::run_main("exs-explain", [&] { return explain::run(explain::parse(argc, argv)); });
}
