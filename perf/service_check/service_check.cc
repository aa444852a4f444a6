// service-check kills a service in use and starts it again, over and over. It checks the fate of everything under way, and measures how
// soon clients resume. For the figures of service/README.md.
// SPDX-License-Identifier: BSD-2-Clause
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "perf/service_check/referee.h"
#include "perf/support/times.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"

namespace service_check {
namespace {

using tools::Json;

struct Options {
  Settings settings;
  std::string provider = "auto";
  double limit_ms = 1000;
  bool json = false;
};

double ms_of(double ns) {
  return std::round(ns / 1e4) / 100;
}

void print(const char* what, const perf::Times& times) {
  std::printf("  %-34s p50 %7.2f ms, p99 %7.2f ms, max %7.2f ms\n", what, times.p50, times.p99, times.max);
}

void report(const Options& options, const Referee& referee) {
  const perf::Times since_open = perf::times_of(referee.since_open(), ms_of);
  const perf::Times since_end = perf::times_of(referee.since_end(), ms_of);
  if (!options.json) {
    std::printf("%u ends of the service, all was as promised; to the first reply of each client\n",
                options.settings.kills);
    print("from exs_svc_open()", since_open);
    print("from the end of the one before", since_end);
    for (std::uint32_t i = 0; i < kKinds; ++i)
      std::printf("  %llu %s were executed\n",
                  static_cast<unsigned long long>(referee.verdict().executed(Kind{i})), kNames[i]);
    return;
  }
  Json::Object out = tools::begin_results("service-check");
  Json::Object executed;
  for (std::uint32_t i = 0; i < kKinds; ++i)
    executed.emplace_back(kNames[i], referee.verdict().executed(Kind{i}));
  out.emplace_back("provider", options.provider);
  out.emplace_back("kills", options.settings.kills);
  out.emplace_back("seed", options.settings.seed);
  out.emplace_back("resume_since_open_ms", json_of(since_open));
  out.emplace_back("resume_since_end_ms", json_of(since_end));
  out.emplace_back("executed", std::move(executed));
  tools::print_json(out);
}

void parse(int argc, char** argv, Options& options) {
  Settings& settings = options.settings;
  tools::CommandLine line(
      "service-check",
      "a service that dies and starts again: what becomes of its clients' messages, and how soon they go on");
  line.add("--kills", settings.kills, "How often it ends")
      .between(std::uint64_t{1}, std::uint64_t{100'000})
      .shows_default();
  line.add("--seed", settings.seed, "Of the moments")
      .between(std::uint64_t{0}, std::uint64_t{UINT32_MAX})
      .shows_default();
  line.add("--provider", options.provider, "Of exs").one_of({"auto", "iwarp", "shm"}).shows_default();
  line.add_choice(
      "--vanish", {"stop", "cut"},
      [&](std::size_t index) { settings.end = index == 0 ? End::kStop : End::kCut; },
      "In place of SIGKILL: SIGSTOP, or its host's cable is cut; the next is on another host");
  line.add("--limit", options.limit_ms,
           "Milliseconds from exs_svc_open() to the first reply, in 99 % of all cases")
      .between(1.0, 1e6)
      .shows_default();
  line.add_choice(
      "--sabotage", {"twice", "unwritten", "order", "silent", "slow", "descriptor", "name"},
      [&](std::size_t index) { settings.sabotage = Sabotage{static_cast<std::uint32_t>(index) + 1}; },
      "A fault that is to be found");
  line.add_json_flag(options.json);
  line.parse(argc, argv);
  if (settings.end != End::kKill && options.provider == "shm")
    throw tools::UsageError("--vanish needs another host, which shm does not reach");
}

int run(int argc, char** argv) {
  Options options;
  parse(argc, argv, options);
  if (options.provider != "auto") setenv("EXS_PROVIDER", options.provider.c_str(), 1);
  enter_own_network();
  Referee referee(options.settings);
  referee.run();
  report(options, referee);
  const double p99_ms = ms_of(static_cast<double>(referee.since_open().percentile_ns(0.99)));
  if (p99_ms > options.limit_ms)
    throw tools::Failure("clients went on too late: p99 " + std::to_string(p99_ms) + " ms");
  return 0;
}

}  // namespace
}  // namespace service_check

int main(int argc, char** argv) {
  return tools::run_main("service-check", [&] { return service_check::run(argc, argv); });
}
