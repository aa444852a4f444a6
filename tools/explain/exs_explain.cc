// exs-explain: what this machine can do for exs; or why a connection is carried by the provider that carries
// it.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <string>

#include "perf/support/endpoint.h"
#include "tools/common/failure.h"
#include "tools/explain/connection.h"
#include "tools/explain/machine.h"
#include "tools/explain/report.h"

namespace explain {
namespace {

struct Settings {
  std::string target;  // empty: this machine
  std::string provider;
  double limit_seconds = 5;
  bool json = false;
};

Settings parse(int argc, const char* const* argv) {
  Settings settings;
  CLI::App app("exs-explain: what this machine can do for exs, or why a connection goes the way it goes",
               "exs-explain");
  app.set_version_flag("--version", std::string("exs-explain ") + exs_version_string());
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("exs-explain: ") + error.what() + " (see --help)\n";
  });
  app.add_option("target", settings.target, "HOST:PORT of an exs server; without it: this machine");
  auto* provider = app.add_option("--provider", settings.provider,
                                  "As the option EXS_SO_PROVIDER: auto, prefer:X, require:X, forbid:X");
  auto* limit = app.add_option("--timeout", settings.limit_seconds, "Seconds that the connect may take")
                    ->check(CLI::Range(0.001, 3600.0))
                    ->capture_default_str();
  app.add_flag("--json", settings.json, "Print one JSON object in place of text");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw tools::Exit{app.exit(error) == 0 ? 0 : 2};
  }
  if (settings.target.empty() && (provider->count() > 0 || limit->count() > 0))
    throw tools::UsageError("--provider and --timeout belong to a connection: give HOST:PORT");
  return settings;
}

std::string providers_of_build() {
  const perf::Library library;
  exs_limits_t limits{};
  limits.struct_bytes = sizeof limits;
  if (exs_getlimits(&limits) == -1) tools::fail("exs_getlimits", errno);
  return limits.providers;
}

int explain_machine(const Settings& settings) {
  Machine machine{look_at_machine(), {}};
  machine.providers = providers_of_build();
  print(machine, settings.json);
  return is_well(machine) ? 0 : 1;
}

int explain_connection(const Settings& settings) {
  constexpr double kMsPerSecond = 1000;
  Target target = parse_target(settings.target);
  target.provider = settings.provider;
  target.limit_ms = static_cast<int>(settings.limit_seconds * kMsPerSecond);
  const Connected connected = connect_to(target);
  print(connected, settings.target, settings.json);
  return connected.error == 0 ? 0 : 1;
}

int run(int argc, const char* const* argv) {
  try {
    const Settings settings = parse(argc, argv);
    return settings.target.empty() ? explain_machine(settings) : explain_connection(settings);
  } catch (const tools::Exit& exit) {
    return exit.status;
  } catch (const tools::UsageError& error) {
    std::fprintf(stderr, "exs-explain: %s (see --help)\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exs-explain: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace explain

int main(int argc, char** argv) {
  return explain::run(argc, argv);
}
