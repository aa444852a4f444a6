#include "perf/support/options.h"

#include <exs/exs.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/units.h"

namespace perf {
namespace {

constexpr double kDefaultSeconds = 2;
constexpr double kDefaultSweepSeconds = 1;
constexpr double kMaxSeconds = 86400;

// An option whose value is the name of one of these.
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
  std::string text;
  for (const Kind kind : kinds_of(benchmark))
    text += traits_of(kind).name + std::string(": ") + traits_of(kind).summary + "; ";
  return text + "default normal";
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

// As typed, before the parts are checked against each other.
struct RawOptions {
  bool server = false;
  bool self = false;
  std::string size;
  std::uint32_t depth = 0;
  double seconds = 0;
  std::uint64_t count = 0;
  std::optional<tools::Option> flip;
  std::uint64_t flip_message = 0;
  bool no_pin = false;
};

void add_options(tools::CommandLine& line, const Benchmark& benchmark, Options& options, RawOptions& raw) {
  line.add("HOST", options.host, "Server to measure against; -s and --self go without");
  line.add_flag("-s,--server", raw.server, "Serve clients until SIGINT; each client brings its own options");
  line.add_flag("--self", raw.self,
                "Run both ends here, as two processes, each pinned to a core of its own when there are two");
  line.add_flag("--no-pin", raw.no_pin, "With --self: leave the choice of cores to the system");
  line.add("-p,--port", options.port, "Port; 0 lets a server pick a free one, which it prints")
      .shows_default();
  line.add("--bind", options.bind_address,
           "Address to serve on; default: any, with --self, where both ends use it, 127.0.0.1");
  line.add("--provider", options.provider, "auto, iwarp, shm, verbs or sim").shows_default();
  add_choice(line, "--kind", options.job.kind, kinds_of(benchmark), kinds_text(benchmark));
  line.add("--size", raw.size, "Bytes in a message; K, M and G are 2^10, 2^20 and 2^30")
      .value_name("SIZE")
      .shows_default();
  if (benchmark.depth_is_an_option) {
    line.add("--depth", raw.depth, depth_text(benchmark)).between(std::uint64_t{1}, std::uint64_t{kDepthMax});
  }
  const tools::Option time =
      line.add("--time", raw.seconds, "Seconds to measure; default 2, with --sweep 1 for each size")
          .between(tools::kSecondsMin, kMaxSeconds);
  line.add("--count", raw.count, "Messages to measure, in place of a time")
      .between(std::uint64_t{1}, std::uint64_t{1} << 62U)
      .excludes(time);
  add_choice(
      line, "--wait", options.job.wait, {Wait::busy, Wait::adaptive, Wait::notify},
      "How both ends wait for events: busy looks all the time, notify sleeps, adaptive looks for a moment "
      "and then sleeps. Default adaptive");
  add_choice(line, "--memory", options.job.memory, {MemoryKind::plain, MemoryKind::alloc},
             "plain: registered pages; alloc: buffers from exs_alloc. Default plain");
  if (serves(benchmark, Kind::stream)) {
    line.add_flag("--nodelay", options.job.nodelay,
                  "With --kind stream: each send leaves at once, by itself");
  }
  line.add_flag("--verify", options.job.verify, "Check every byte of every message; costs time at both ends");
  raw.flip = line.add("--flip", raw.flip_message,
                      "Spoil one byte of message N (from 0) on purpose, to see --verify "
                      "find it")
                 .value_name("N");
  line.add_flag("--sweep", options.sweep, "Measure sizes from 1 B to 16 MiB, as a table");
  line.add_json_flag(options.json);
}

void check_role(const RawOptions& raw, Options& options) {
  const int roles = (raw.server ? 1 : 0) + (raw.self ? 1 : 0) + (options.host.empty() ? 0 : 1);
  if (roles != 1) throw tools::UsageError("give one of HOST, --server and --self");
  options.role = raw.server ? Role::server : raw.self ? Role::self : Role::client;
  if (options.role == Role::client && options.port == 0) throw tools::UsageError("--port 0 is for servers");
  if (options.role == Role::client && !options.bind_address.empty())
    throw tools::UsageError("--bind is for --server and --self");
}

void check_job(const Options& options) {
  const Job& job = options.job;
  const KindTraits& kind = traits_of(job.kind);
  if (job.size_bytes < 1 || job.size_bytes > kSizeMaxBytes) throw tools::UsageError("--size must be 1 to 1G");
  if (!options.sweep && (job.size_bytes < kind.size_min_bytes || job.size_bytes > kind.size_max_bytes)) {
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
  if (options.limit.flip_message && !job.verify) throw tools::UsageError("--flip needs --verify");
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
  options.job.benchmark = benchmark.id;
  raw.size = std::to_string(benchmark.default_size_bytes);
  if (benchmark.default_size_bytes % 1024 == 0)
    raw.size = std::to_string(benchmark.default_size_bytes / 1024) + "K";

  tools::CommandLine line(benchmark.name, benchmark.summary);
  add_options(line, benchmark, options, raw);
  line.parse(argc, argv);
  options.pin = !raw.no_pin;
  options.job.size_bytes = tools::parse_size(raw.size);
  const KindTraits& kind = traits_of(options.job.kind);
  options.job.depth = raw.depth != 0                                            ? raw.depth
                      : benchmark.depth_is_an_option && kind.depth_default != 0 ? kind.depth_default
                                                                                : benchmark.default_depth;
  options.limit.count = raw.count;
  if (raw.seconds == 0) raw.seconds = options.sweep ? kDefaultSweepSeconds : kDefaultSeconds;
  options.limit.time_ns = tools::ns_of(raw.seconds);
  if (raw.flip->is_given()) options.limit.flip_message = raw.flip_message;
  check_role(raw, options);
  check_job(options);
  return options;
}

}  // namespace perf
