// exs-rpc-ping: the time of a remote procedure call by the size of its argument, which comes back as its result.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/exs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "perf/rpc_ping/stubs.h"
#include "perf/rpc_ping/way.h"
#include "perf/rpc_ping/way_sunrpc.h"
#include "perf/support/kind.h"
#include "perf/support/times.h"
#include "tools/common/child_process.h"
#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/json.h"
#include "tools/common/progress_line.h"
#include "tools/common/run_info.h"
#include "tools/common/units.h"

namespace rpc_ping {
namespace {

using tools::Json;

constexpr std::uint64_t kSizeMaxBytes = std::uint64_t{64} << 20U;
constexpr int kExitInterrupted = 130;

struct Settings {
  std::string way = "sunrpc";
  std::string provider = "auto";
  std::string host;
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 0;
  std::vector<std::uint64_t> sizes;
  std::uint32_t calls = 10'000;
  std::uint64_t time_ns = 0;   // 0: the number of calls decides
  std::uint32_t pause_us = 0;  // before each call
  std::uint32_t warmup_calls = 1'000;
  std::uint32_t under_way = 1;
  bool is_server = false;
  bool is_self = false;
  bool verify = false;
  bool json = false;
  bool pin = true;
};

struct Result {
  std::uint64_t size_bytes = 0;
  std::string carrier;
  tools::Histogram times;
  std::uint64_t elapsed_ns = 0;
  std::uint64_t client_cpu_ns = 0;
  ServerUse server;
};

std::vector<Way> all_ways() {
  return {sunrpc_by_exs(), sunrpc_reduced(), sunrpc_without_copies(), stubs(),
          mapped_stubs(),  sunrpc_by_tcp(),  sunrpc_by_local_socket()};
}
Way way_of(const std::string& name) {
  for (Way& way : all_ways())
    if (name == way.name) return way;
  throw tools::UsageError("there is no way " + name);
}

void fill(std::vector<char>& bytes, std::uint64_t call) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + call);
}

// Each call has a pattern of its own: otherwise a result could be that of the call before.
void call_once(Caller& caller, std::vector<char>& bytes, std::uint64_t call, bool verify) {
  if (verify) fill(bytes, call);
  const std::span<const char> result = caller.call(bytes);
  if (!verify) return;
  std::vector<char> expected(bytes.size());
  fill(expected, call);
  if (!std::equal(result.begin(), result.end(), expected.begin(), expected.end()))
    throw tools::Failure("the bytes of a result are not those of the argument");
}

bool goes_on(const Settings& settings, std::uint64_t calls, std::uint64_t now_ns, std::uint64_t end_ns) {
  if (tools::interrupted()) return false;
  return settings.time_ns > 0 ? now_ns < end_ns : calls < settings.calls;
}

void note(Result& result, std::uint64_t begun_ns, std::uint64_t now_ns, tools::ProgressLine& line) {
  result.times.record(now_ns - begun_ns);
  line.update(result.times.count(), now_ns);
}

void measure_one_by_one(Caller& caller, const Settings& settings, std::vector<char>& bytes,
                        std::uint64_t end_ns, Result& result, tools::ProgressLine& line) {
  std::uint64_t begun_ns = exs::monotonic_ns();
  for (std::uint64_t i = 0; goes_on(settings, i, begun_ns, end_ns); ++i) {
    if (settings.pause_us > 0) usleep(settings.pause_us);
    begun_ns = exs::monotonic_ns();
    call_once(caller, bytes, i, settings.verify);
    note(result, begun_ns, exs::monotonic_ns(), line);
  }
}

// A call's time runs from its begin to its end, and includes waiting for others.
void measure_together(Caller& caller, const Settings& settings, std::vector<char>& bytes,
                      std::uint64_t end_ns, Result& result, tools::ProgressLine& line) {
  std::deque<std::uint64_t> begun_ns;
  std::uint64_t begun = 0;
  for (std::uint64_t now_ns = exs::monotonic_ns();;) {
    while (begun_ns.size() < settings.under_way && goes_on(settings, begun, now_ns, end_ns)) {
      begun_ns.push_back(now_ns);
      caller.begin(bytes);
      ++begun;
    }
    if (begun_ns.empty()) return;
    caller.end(bytes);
    now_ns = exs::monotonic_ns();
    note(result, begun_ns.front(), now_ns, line);
    begun_ns.pop_front();
  }
}

// A signal may end a call; earlier measurements count.
template <typename Calls>
void until_interrupted(Calls&& calls) {
  try {
    calls();
  } catch (const tools::Failure&) {
    if (!tools::interrupted()) throw;
  }
}

Result measure(Caller& caller, const Settings& settings, std::uint64_t size_bytes,
               tools::ProgressLine& line) {
  Result result;
  result.size_bytes = size_bytes;
  std::vector<char> bytes(size_bytes, 'x');
  // Large arguments need fewer warm-up calls.
  constexpr std::uint64_t kWarmupBytes = std::uint64_t{64} << 20U;
  std::uint64_t warmup = settings.warmup_calls;
  if (size_bytes > 0) warmup = std::min<std::uint64_t>(warmup, kWarmupBytes / size_bytes + 1);
  until_interrupted([&] {
    for (std::uint64_t i = 0; i < warmup && !tools::interrupted(); ++i)
      call_once(caller, bytes, i, settings.verify);
  });
  caller.use_of_server();
  const std::uint64_t calls = settings.time_ns > 0 ? 0 : settings.calls;
  line.begin(tools::format_size(size_bytes), "calls", {calls, settings.time_ns});
  tools::Stopwatch watch;
  watch.start();
  const std::uint64_t end_ns = watch.start_ns() + settings.time_ns;
  const auto measure_calls = settings.under_way > 1 ? measure_together : measure_one_by_one;
  until_interrupted([&] { measure_calls(caller, settings, bytes, end_ns, result, line); });
  watch.stop();
  line.clear();
  result.elapsed_ns = watch.wall_ns();
  result.client_cpu_ns = watch.cpu_ns();
  result.server = caller.use_of_server();
  result.carrier = caller.carrier();
  return result;
}

double us_of(double ns) {
  return std::round(ns) / 1000;
}
double us_of_call(std::uint64_t ns, std::uint64_t calls) {
  return us_of(static_cast<double>(ns) / static_cast<double>(calls));
}

Json::Object object_of(const Result& result, const Settings& settings) {
  return {{"size_bytes", result.size_bytes},
          {"carrier", result.carrier},
          {"calls", result.times.count()},
          {"calls_per_second", std::round(static_cast<double>(result.times.count()) * 1e9 /
                                          static_cast<double>(result.elapsed_ns))},
          {"round_trip_us", json_of(perf::times_of(result.times, us_of))},
          {"client_cpu_us", us_of_call(result.client_cpu_ns, result.times.count())},
          {"server_cpu_us", us_of_call(result.server.cpu_ns, result.times.count())},
          {"verified", settings.verify ? Json(true) : Json(nullptr)}};
}

void print_head(const Settings& settings, bool pinned) {
  std::printf("exs-rpc-ping %s: %s; %s\n", exs_version_string(), way_of(settings.way).summary,
              pinned ? "each process pinned to a core" : "not pinned");
  std::printf("%10s %8s %9s %9s %9s %9s %9s %11s %11s\n", "argument", "by", "min us", "p50 us", "p99 us",
              "max us", "k calls/s", "client us", "server us");
}
void print_row(const Result& result) {
  const perf::Times times = perf::times_of(result.times, us_of);
  std::printf("%10s %8s %9.2f %9.2f %9.2f %9.2f %9.1f %11.2f %11.2f\n",
              tools::format_size(result.size_bytes).c_str(), result.carrier.c_str(), times.min, times.p50,
              times.p99, times.max,
              static_cast<double>(result.times.count()) * 1e6 / static_cast<double>(result.elapsed_ns),
              us_of_call(result.client_cpu_ns, result.times.count()),
              us_of_call(result.server.cpu_ns, result.times.count()));
  std::fflush(stdout);
}

void print_results(const Settings& settings, const std::vector<Json::Object>& results, bool pinned) {
  Json::Object out = tools::begin_results("exs-rpc-ping");
  out.emplace_back("way", settings.way);
  out.emplace_back("pinned", pinned);
  out.emplace_back("under_way", settings.under_way);
  out.emplace_back("interrupted", tools::interrupted());
  if (results.size() == 1) {
    out.insert(out.end(), results[0].begin(), results[0].end());
  } else {
    out.emplace_back("sizes", tools::array_of(results));
  }
  tools::print_json(out);
}

// Returns the exit status. A signal ends the measurement, and the results so far are printed.
int run_client(const Settings& settings, const std::string& host, const std::string& place, bool pinned) {
  const std::unique_ptr<Caller> caller = way_of(settings.way).connect(host, place);
  tools::catch_interrupts();
  if (!settings.json) print_head(settings, pinned);
  std::vector<Json::Object> results;
  tools::ProgressLine line;
  for (const std::uint64_t size_bytes : settings.sizes) {
    if (tools::interrupted()) break;
    const Result result = measure(*caller, settings, size_bytes, line);
    if (result.times.count() == 0) continue;
    if (settings.json) {
      results.push_back(object_of(result, settings));
    } else {
      print_row(result);
    }
  }
  if (settings.json) print_results(settings, results, pinned);
  return tools::interrupted() ? kExitInterrupted : 0;
}

void serve(const Settings& settings, const Told& told) {
  way_of(settings.way).serve(settings.bind_address, std::to_string(settings.port), told);
}

// Reads the server's place from the end of a pipe.
std::string read_place(int from) {
  std::string place(64, '\0');
  const ssize_t count = read(from, place.data(), place.size());
  if (count <= 0) throw tools::Failure("the server has no place");
  place.resize(static_cast<std::size_t>(count));
  return place;
}

int run_both(const Settings& settings) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) == -1) tools::fail("cannot make a pipe", errno);
  tools::ChildProcess server([&] {
    tools::leave_interrupts_to_parent();
    if (settings.pin) tools::pin_to_core(1);
    close(ends[0]);
    serve(settings, [&](const std::string& place) {
      if (write(ends[1], place.data(), place.size()) == -1) tools::fail("cannot tell the place", errno);
      close(ends[1]);
    });
    return 0;
  });
  close(ends[1]);
  const bool pinned = settings.pin && tools::pin_to_core(0);
  return run_client(settings, settings.bind_address, read_place(ends[0]), pinned);
}

Settings parse(int argc, const char* const* argv) {
  Settings settings;
  std::string sizes = "0,8,64,256,1440,3072,64K,1M";
  std::string ways;
  std::vector<std::string> names;
  for (const Way& way : all_ways()) {
    names.emplace_back(way.name);
    ways += (ways.empty() ? "" : "; ") + std::string(way.name) + ": " + way.summary;
  }
  double seconds = 0;
  bool no_pin = false;
  tools::CommandLine line("exs-rpc-ping", "time of remote procedure calls, by the size of their argument");
  line.group("Ends");
  line.add("HOST", settings.host, "Address of the server");
  line.add_flag("-s,--server", settings.is_server, "Serve until a signal ends it");
  line.add_flag("--self", settings.is_self, "Run both ends here, in two processes");
  line.add_port(settings.port, "Port of the server; 0 with --server or --self: any");
  line.add_bind_address(settings.bind_address);
  line.add_flag("--no-pin", no_pin,
                "Leave the choice of cores to the system, instead of one core for each process");
  line.group("Calls");
  line.add("--way", settings.way, ways).one_of(names).shows_default();
  line.add("--provider", settings.provider, "Provider of exs to use")
      .one_of({"auto", "iwarp", "shm", "verbs"})
      .shows_default();
  line.add("--size", sizes, "Bytes of the argument, several with commas; 0 is a call of nothing")
      .shows_default();
  line.add("--calls", settings.calls, "Calls to measure, of each size")
      .between(std::uint64_t{1}, std::uint64_t{100'000'000})
      .shows_default();
  line.add("--time", seconds, "Seconds to measure, of each size, in place of --calls")
      .between(tools::kSecondsMin, 3600.0);
  line.add("--under-way", settings.under_way,
           "Calls that are pending at once; more than one with --way stubs or mapped")
      .between(std::uint64_t{1}, std::uint64_t{kUnderWayMax})
      .shows_default();
  line.add("--warm-up", settings.warmup_calls, "Calls before them").shows_default();
  line.add("--pause", settings.pause_us,
           "Microseconds before each call; with 2000 both ends sleep when it comes")
      .between(std::uint64_t{0}, std::uint64_t{1'000'000})
      .shows_default();
  line.group("Checks and output");
  line.add_flag("--verify", settings.verify, "Check every byte of the results");
  line.add_json_flag(settings.json);
  line.parse(argc, argv);
  if (settings.is_server + settings.is_self + !settings.host.empty() != 1)
    throw tools::UsageError("one of HOST, --server and --self is to be given");
  if (!settings.host.empty() && settings.port == 0) throw tools::UsageError("HOST needs the server's --port");
  if (settings.under_way > 1 && (settings.verify || settings.pause_us > 0))
    throw tools::UsageError("--verify and --pause are for one call at a time");
  settings.sizes = tools::parse_sizes(sizes, kSizeMaxBytes);
  settings.time_ns = tools::ns_of(seconds);
  settings.pin = !no_pin;
  return settings;
}

// Sets the variable. Returns false if it, or the default of an unset one, had another value.
bool make_environment(const char* name, const char* value, const char* otherwise) {
  const char* const given = std::getenv(name);
  const bool is_it = std::string(given == nullptr ? otherwise : given) == value;
  setenv(name, value, 1);
  return is_it;
}

// libexs-sunrpc.so reads these variables when it is loaded, so the program executes itself again if they were different.
void begin_as_told(const Settings& settings, char** argv) {
  const char* const variant = way_of(settings.way).exs_sunrpc;
  if (settings.provider != "auto") setenv("EXS_PROVIDER", settings.provider.c_str(), 1);
  const bool has_use = make_environment("EXS_SUNRPC", variant != nullptr ? "auto" : "off", "auto");
  if (make_environment("EXS_SUNRPC_VARIANT", variant == nullptr ? "optimized" : variant, "optimized") &&
      has_use)
    return;
  execv("/proc/self/exe", argv);
  tools::fail("cannot begin anew", errno);
}

int run(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  begin_as_told(settings, argv);
  if (settings.is_self) return run_both(settings);
  if (settings.is_server) {
    serve(settings, [](const std::string& place) {
      std::printf("exs-rpc-ping: serving at %s\n", place.c_str());
      std::fflush(stdout);
    });
  } else {
    return run_client(settings, settings.host, std::to_string(settings.port), false);
  }
  return 0;
}

}  // namespace
}  // namespace rpc_ping

int main(int argc, char** argv) {
  return tools::run_main("exs-rpc-ping", [&] { return rpc_ping::run(argc, argv); });
}
