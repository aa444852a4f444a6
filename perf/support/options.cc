// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/options.h"

#include <exs/exs.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/sockets.h"
#include "tools/common/units.h"

namespace perf {
namespace {

constexpr double kDefaultSeconds = 2;
constexpr double kDefaultSecondsOfMany = 1;
constexpr double kMaxSeconds = 86400;
constexpr double kRateMax = 1e9;
constexpr std::uint64_t kConnectionsMax = 64;

// Adds an option whose value is the name of one of `values`.
template <typename Enum>
void add_choice(tools::CommandLine& line, const char* name, Enum& target, const std::vector<Enum>& values,
                const std::string& help) {
  std::vector<std::string> names;
  for (const Enum value : values) names.emplace_back(name_of(value));
  line.add_choice(
      name, names, [&target, values](std::size_t index) { target = values[index]; }, help);
}

std::vector<Kind> kinds_of(const Benchmark& benchmark) {
  std::vector<Kind> kinds;
  for (const Method& method : benchmark.methods) kinds.push_back(method.kind);
  return kinds;
}

bool serves(const Benchmark& benchmark, Kind kind) {
  return std::ranges::find(benchmark.methods, kind, &Method::kind) != benchmark.methods.end();
}

std::string kinds_text(const Benchmark& benchmark) {
  std::string text = benchmark.measures_latency ? "all (default): each of the others in turn; " : "";
  for (const Kind kind : kinds_of(benchmark))
    text += traits_of(kind).name + std::string(": ") + traits_of(kind).summary + "; ";
  return benchmark.measures_latency ? text.substr(0, text.size() - 2)
                                    : text + "default normal; all: each in turn";
}

std::string depth_text(const Benchmark& benchmark) {
  std::string text = "Messages under way at a time; default " + std::to_string(benchmark.default_depth);
  for (const Kind kind : kinds_of(benchmark)) {
    const KindTraits& traits = traits_of(kind);
    if (traits.depth_default == 0) continue;
    text += ", with --kind " + std::string(traits.name) + " " + std::to_string(traits.depth_default);
  }
  return text;
}

// The options as typed, before they are checked against each other.
struct RawOptions {
  Job job;  // without the parts that depend on the kind
  bool all_kinds = false;
  bool server = false;
  bool self = false;
  bool json = false;
  bool csv = false;
  std::string size;
  std::uint32_t depth = 0;
  double seconds = 0;
  std::uint64_t count = 0;
  double interval_seconds = 0;
  std::optional<tools::Option> size_option;
  std::optional<tools::Option> flip;
  std::uint64_t flip_message = 0;
  bool no_pin = false;
};

void add_roles(tools::CommandLine& line, Options& options, RawOptions& raw) {
  line.group("Ends");
  line.add("HOST", options.host, "Server to measure against; -s and --self go without");
  line.add_flag("-s,--server", raw.server, "Serve clients until SIGINT; each client brings its own options");
  line.add_flag("-1,--one-client", options.one_client,
                "With --server: end when the first client has been served");
  line.add_flag("--self", raw.self,
                "Run both ends here, as two processes, each pinned to a core of its own when there are two");
  line.add_flag("--no-pin", raw.no_pin, "With --self: leave the choice of cores to the system");
  line.add_port(options.port, "Port; 0 lets a server pick a free one, which it prints");
  line.add("--bind", options.bind_address,
           "Address to serve on; default: any, with --self, where both ends use it, 127.0.0.1");
  line.add("--provider", options.provider,
           "auto, iwarp, shm or verbs, see exs(7); with --self also sim, see exs-sim(7)")
      .shows_default();
}

void add_kind(tools::CommandLine& line, const Benchmark& benchmark, RawOptions& raw) {
  const std::vector<Kind> kinds = kinds_of(benchmark);
  std::vector<std::string> names;
  for (const Kind kind : kinds) names.emplace_back(name_of(kind));
  names.emplace_back("all");
  raw.all_kinds = benchmark.measures_latency;
  line.add_choice(
      "--kind", names,
      [&raw, kinds](std::size_t index) {
        raw.all_kinds = index == kinds.size();
        if (!raw.all_kinds) raw.job.kind = kinds[index];
      },
      kinds_text(benchmark));
}

void add_limits(tools::CommandLine& line, const Benchmark& benchmark, Options& options, RawOptions& raw) {
  line.group("Measurement");
  const tools::Option time =
      line.add("--time", raw.seconds, "Seconds to measure; default 2, or 1 for each of several measurements")
          .between(tools::kSecondsMin, kMaxSeconds);
  line.add("--count", raw.count, "Messages to measure, in place of a time")
      .between(std::uint64_t{1}, std::uint64_t{1} << 62U)
      .excludes(time);
  line.add("-i,--interval", raw.interval_seconds, "Report every so many seconds, too")
      .between(tools::kSecondsMin, kMaxSeconds);
  line.add("-P,--parallel", options.connections,
           "Connections at the same time, each with a thread at both ends")
      .between(std::uint64_t{1}, kConnectionsMax)
      .shows_default();
  if (!benchmark.measures_latency) {
    line.add_flag("--reverse", raw.job.reverse, "The server sends and the client receives");
    return;
  }
  line.add("--rate", options.limit.rate,
           "Messages a second on each connection, due at fixed times whatever became of those before "
           "(open loop); their times are measured from when they were due, too")
      .between(1.0 / kMaxSeconds, kRateMax);
  line.add_flag("--histogram", options.histogram, "Print how many messages took how long");
}

void add_options(tools::CommandLine& line, const Benchmark& benchmark, Options& options, RawOptions& raw) {
  add_roles(line, options, raw);
  line.group("Messages");
  add_kind(line, benchmark, raw);
  raw.size_option = line.add("--size", raw.size, "Bytes in a message; K, M and G are 2^10, 2^20 and 2^30")
                        .value_name("SIZE")
                        .shows_default();
  if (benchmark.depth_is_an_option) {
    line.add("--depth", raw.depth, depth_text(benchmark)).between(std::uint64_t{1}, std::uint64_t{kDepthMax});
  }
  line.add("--credits", options.credits,
           "Messages that may be on the way each way, fixed; default: the library's, which grow")
      .between(std::uint64_t{1}, std::uint64_t{EXS_CREDITS_MAX});
  add_limits(line, benchmark, options, raw);
  line.group("Memory and waits");
  add_choice(
      line, "--wait", raw.job.wait, {Wait::busy, Wait::adaptive, Wait::notify},
      "How both ends wait for events: busy looks all the time, notify sleeps, adaptive looks for a moment "
      "and then sleeps. Default adaptive");
  add_choice(line, "--memory", raw.job.memory, {MemoryKind::plain, MemoryKind::alloc},
             "plain: registered pages; alloc: buffers from exs_alloc. Default plain");
  if (serves(benchmark, Kind::stream)) {
    line.add_flag("--nodelay", raw.job.nodelay, "With --kind stream: each send leaves at once, by itself");
  }
  line.group("Checks and output");
  line.add_flag("--verify", raw.job.verify, "Check every byte of every message; costs time at both ends");
  raw.flip = line.add("--flip", raw.flip_message, "Corrupt one byte of message N (from 0), to test --verify")
                 .value_name("N");
  line.add_flag("--sweep", options.sweep, "Measure sizes from 1 B to 16 MiB, as a table");
  const tools::Option json = line.add_json_flag(raw.json);
  line.add_flag("--csv", raw.csv, "Print comma-separated values, with a line of names first").excludes(json);
}

void check_role(const RawOptions& raw, Options& options) {
  const int roles = (raw.server ? 1 : 0) + (raw.self ? 1 : 0) + (options.host.empty() ? 0 : 1);
  if (roles != 1) throw tools::UsageError("give one of HOST, --server and --self");
  options.role = raw.server ? Role::server : raw.self ? Role::self : Role::client;
  if (options.role == Role::client && options.port == 0) throw tools::UsageError("--port 0 is for servers");
  if (options.role == Role::client && !options.bind_address.empty())
    throw tools::UsageError("--bind is for --server and --self");
  if (tools::is_simulated(options.provider) && options.role != Role::self)
    throw tools::UsageError("--provider sim goes with --self: both ends are in one process");
  if (options.one_client && options.role != Role::server)
    throw tools::UsageError("--one-client is for --server");
}

void check_job(const Options& options, const Job& job) {
  const KindTraits& kind = traits_of(job.kind);
  if (job.size_bytes < kind.size_min_bytes || job.size_bytes > kind.size_max_bytes) {
    throw tools::UsageError(tools::format("--kind %s carries %s to %s a message, not %s", kind.name,
                                          tools::format_size(kind.size_min_bytes).c_str(),
                                          tools::format_size(kind.size_max_bytes).c_str(),
                                          tools::format_size(job.size_bytes).c_str()));
  }
  if (job.depth > kind.depth_max)
    throw tools::UsageError(
        tools::format("--kind %s has a --depth of at most %u", kind.name, kind.depth_max));
  if (buffers_bytes(job) > kBuffersMaxBytes)
    throw tools::UsageError(tools::format("%u buffers of this size take more than 1 GiB",
                                          std::max(server_buffers(job), job.depth)));
  if (job.nodelay && job.kind != Kind::stream) throw tools::UsageError("--nodelay needs --kind stream");
  if (job.reverse && !kind.may_be_reversed)
    throw tools::UsageError(
        tools::format("--reverse makes no sense with --kind %s: there the %s", kind.name, kind.summary));
  if (job.reverse && options.limit.flip_message)
    throw tools::UsageError("--flip spoils what the client sends, and with --reverse it sends nothing");
  if (options.limit.flip_message && !job.verify) throw tools::UsageError("--flip needs --verify");
}

// Returns the sizes of one kind.
std::vector<std::uint64_t> sizes_of(const KindTraits& kind, const Options& options,
                                    std::uint64_t size_bytes) {
  if (!options.sweep) return {size_bytes};
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = kind.size_min_bytes; size < kind.sweep_max_bytes; size *= 4)
    sizes.push_back(size);
  sizes.push_back(kind.sweep_max_bytes);
  return sizes;
}

// The kind can carry this size and the other requested features.
bool fits(const Job& job) {
  const KindTraits& kind = traits_of(job.kind);
  return job.size_bytes >= kind.size_min_bytes && job.size_bytes <= kind.size_max_bytes &&
         (!job.reverse || kind.may_be_reversed);
}

std::vector<Job> jobs_of(const Benchmark& benchmark, const Options& options, const RawOptions& raw) {
  std::vector<Job> jobs;
  const std::uint64_t size_bytes = tools::parse_size(raw.size);
  if (size_bytes < 1 || size_bytes > kSizeMaxBytes) throw tools::UsageError("--size must be 1 to 1G");
  for (const Kind kind : raw.all_kinds ? kinds_of(benchmark) : std::vector<Kind>{raw.job.kind}) {
    const KindTraits& traits = traits_of(kind);
    Job job = raw.job;
    job.kind = kind;
    job.depth = raw.depth != 0                                              ? raw.depth
                : benchmark.depth_is_an_option && traits.depth_default != 0 ? traits.depth_default
                                                                            : benchmark.default_depth;
    if (raw.all_kinds) job.depth = std::min(job.depth, traits.depth_max);
    if (raw.all_kinds) job.nodelay &= kind == Kind::stream;
    for (const std::uint64_t size : sizes_of(traits, options, size_bytes)) {
      job.size_bytes = size;
      if (raw.all_kinds && !fits(job)) continue;
      check_job(options, job);
      jobs.push_back(job);
    }
  }
  for (std::size_t i = 0; i + 1 < jobs.size(); ++i) jobs[i].more = true;
  return jobs;
}

void check_formats(const Options& options, const RawOptions& raw) {
  if (options.sweep && raw.size_option->is_given())
    throw tools::UsageError("--sweep has sizes of its own: leave --size out");
  if (options.histogram && raw.csv) throw tools::UsageError("--histogram has no place in --csv: use --json");
}

}  // namespace

std::uint32_t warmup_messages_for(std::uint64_t size_bytes, std::uint64_t count) {
  constexpr std::uint64_t kBudgetBytes = std::uint64_t{64} << 20U;
  std::uint64_t messages = std::clamp<std::uint64_t>(kBudgetBytes / size_bytes, 4, 1000);
  if (count > 0) messages = std::min(messages, count / 10);
  return static_cast<std::uint32_t>(messages);
}

Options parse_options(const Benchmark& benchmark, int argc, const char* const* argv) {
  Options options;
  RawOptions raw;
  options.port = benchmark.default_port;
  raw.job.benchmark = benchmark.id;
  raw.size = std::to_string(benchmark.default_size_bytes);
  if (benchmark.default_size_bytes % 1024 == 0)
    raw.size = std::to_string(benchmark.default_size_bytes / 1024) + "K";

  tools::CommandLine line(benchmark.name, benchmark.summary);
  add_options(line, benchmark, options, raw);
  line.parse(argc, argv);
  options.pin = !raw.no_pin && options.connections == 1;  // threads of one end would share its core
  options.all_kinds = raw.all_kinds;
  options.format = raw.json ? Format::json : raw.csv ? Format::csv : Format::table;
  options.limit.count = raw.count;
  if (raw.seconds == 0)
    raw.seconds = options.sweep || options.all_kinds ? kDefaultSecondsOfMany : kDefaultSeconds;
  options.limit.time_ns = tools::ns_of(raw.seconds);
  options.limit.interval_ns = tools::ns_of(raw.interval_seconds);
  if (raw.flip->is_given()) options.limit.flip_message = raw.flip_message;
  check_role(raw, options);
  check_formats(options, raw);
  options.jobs = jobs_of(benchmark, options, raw);
  return options;
}

}  // namespace perf
