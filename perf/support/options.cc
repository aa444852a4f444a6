#include "perf/support/options.h"

#include <exs/exs.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/units.h"

namespace perf {
namespace {

constexpr double kDefaultSeconds = 2;
constexpr double kDefaultSweepSeconds = 1;
constexpr double kMaxSeconds = 86400;

// An option whose value is one of a few words.
template <typename Enum>
void add_choice(CLI::App& app, const char* name, Enum& target, const std::vector<Enum>& values,
                const std::string& description) {
  std::vector<std::string> words;
  for (const Enum value : values) words.emplace_back(name_of(value));
  app.add_option_function<std::string>(
         name,
         [&target, choices = values](const std::string& word) {
           for (const Enum value : choices) {
             if (word == name_of(value)) target = value;
           }
         },
         description)
      ->type_name(CLI::detail::join(words, "|"))
      ->check(CLI::Validator(
          [words](const std::string& word) {
            const bool known = std::find(words.begin(), words.end(), word) != words.end();
            return known ? std::string() : "\"" + word + "\" is none of " + CLI::detail::join(words, ", ");
          },
          ""));
}

std::vector<Kind> kinds_of(const Tool& tool) {
  std::vector<Kind> kinds;
  for (const Method& method : tool.methods) kinds.push_back(method.kind);
  return kinds;
}

bool serves(const Tool& tool, Kind kind) {
  return std::ranges::find(tool.methods, kind, &Method::kind) != tool.methods.end();
}

std::string kinds_text(const Tool& tool) {
  std::string text;
  for (const Kind kind : kinds_of(tool))
    text += traits_of(kind).name + std::string(": ") + traits_of(kind).summary + "; ";
  return text + "default normal";
}

std::string depth_text(const Tool& tool) {
  std::string text = "Messages under way at a time; default " + std::to_string(tool.default_depth);
  for (const Kind kind : kinds_of(tool)) {
    const KindTraits& traits = traits_of(kind);
    if (traits.depth_default == 0) continue;
    text += ", with --kind " + std::string(traits.name) + " " + std::to_string(traits.depth_default);
  }
  return text;
}

// As typed, before the parts are checked against each other.
struct Words {
  bool server = false;
  bool self = false;
  std::string size;
  std::uint32_t depth = 0;
  double seconds = 0;
  std::uint64_t count = 0;
  std::uint64_t flip_message = 0;
  bool no_pin = false;
};

void add_options(CLI::App& app, const Tool& tool, Options& options, Words& words) {
  app.add_option("HOST", options.host, "Server to measure against; -s and --self go without");
  app.add_flag("-s,--server", words.server, "Serve clients until SIGINT; each client brings its own options");
  app.add_flag("--self", words.self,
               "Run both ends here, as two processes, each pinned to a core of its own when there are two");
  app.add_flag("--no-pin", words.no_pin, "With --self: leave the choice of cores to the system");
  app.add_option("-p,--port", options.port, "Port; 0 lets a server pick a free one, which it prints")
      ->capture_default_str();
  app.add_option("--bind", options.bind_address,
                 "Address to serve on; default: any, with --self, where both ends use it, 127.0.0.1");
  app.add_option("--provider", options.provider, "auto, iwarp, shm, verbs or sim")->capture_default_str();
  add_choice(app, "--kind", options.job.kind, kinds_of(tool), kinds_text(tool));
  app.add_option("--size", words.size, "Bytes in a message; K, M and G are 2^10, 2^20 and 2^30")
      ->type_name("SIZE")
      ->capture_default_str();
  if (tool.depth_is_an_option) {
    app.add_option("--depth", words.depth, depth_text(tool))->check(CLI::Range(std::uint32_t{1}, kDepthMax));
  }
  auto* time =
      app.add_option("--time", words.seconds, "Seconds to measure; default 2, with --sweep 1 for each size")
          ->check(CLI::Range(0.001, kMaxSeconds));
  app.add_option("--count", words.count, "Messages to measure, in place of a time")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62U))
      ->excludes(time);
  add_choice(
      app, "--wait", options.job.wait, {Wait::busy, Wait::adaptive, Wait::notify},
      "How both ends wait for events: busy looks all the time, notify sleeps, adaptive looks for a moment "
      "and then sleeps. Default adaptive");
  add_choice(app, "--memory", options.job.memory, {MemoryKind::plain, MemoryKind::alloc},
             "plain: registered pages; alloc: buffers from exs_alloc. Default plain");
  if (serves(tool, Kind::stream)) {
    app.add_flag("--nodelay", options.job.nodelay, "With --kind stream: each send leaves at once, by itself");
  }
  app.add_flag("--verify", options.job.verify, "Check every byte of every message; costs time at both ends");
  app.add_option("--flip", words.flip_message,
                 "Spoil one byte of message N (from 0) on purpose, to see --verify "
                 "find it")
      ->type_name("N");
  app.add_flag("--sweep", options.sweep, "Measure sizes from 1 B to 16 MiB, as a table");
  app.add_flag("--json", options.json, "Print one JSON object in place of a table");
}

void check_role(const Words& words, Options& options) {
  const int roles = (words.server ? 1 : 0) + (words.self ? 1 : 0) + (options.host.empty() ? 0 : 1);
  if (roles != 1) throw tools::UsageError("give one of HOST, --server and --self");
  options.role = words.server ? Role::server : words.self ? Role::self : Role::client;
  if (options.role == Role::client && options.port == 0) throw tools::UsageError("--port 0 is for servers");
  if (options.role == Role::client && !options.bind_address.empty())
    throw tools::UsageError("--bind is for --server and --self");
}

void check_job(const Options& options) {
  const Job& job = options.job;
  const KindTraits& kind = traits_of(job.kind);
  if (job.size_bytes < 1 || job.size_bytes > kSizeMaxBytes) throw tools::UsageError("--size must be 1 to 1G");
  if (!options.sweep && (job.size_bytes < kind.size_min_bytes || job.size_bytes > kind.size_max_bytes)) {
    throw tools::UsageError(tools::text("--kind %s carries %s to %s a message, not %s", kind.name,
                                        tools::size_text(kind.size_min_bytes).c_str(),
                                        tools::size_text(kind.size_max_bytes).c_str(),
                                        tools::size_text(job.size_bytes).c_str()));
  }
  if (job.depth > kind.depth_max)
    throw tools::UsageError(tools::text("--kind %s has a --depth of at most %u", kind.name, kind.depth_max));
  if (buffers_bytes(job) > kBuffersMaxBytes)
    throw tools::UsageError(tools::text("%u buffers of this size take more than 1 GiB",
                                        std::max(server_buffers(job), job.depth)));
  if (job.nodelay && job.kind != Kind::stream) throw tools::UsageError("--nodelay needs --kind stream");
  if (options.limit.flip_message && !job.verify) throw tools::UsageError("--flip needs --verify");
}

std::string version_line(const Tool& tool) {
  return std::string(tool.name) + " " + exs_version_string();
}

}  // namespace

std::uint32_t warmup_messages_for(std::uint64_t size_bytes, std::uint64_t count) {
  constexpr std::uint64_t kBudgetBytes = std::uint64_t{64} << 20U;
  std::uint64_t messages = std::clamp<std::uint64_t>(kBudgetBytes / size_bytes, 4, 1000);
  if (count > 0) messages = std::min(messages, count / 10);
  return static_cast<std::uint32_t>(messages);
}

Options parse_options(const Tool& tool, int argc, const char* const* argv) {
  Options options;
  Words words;
  options.port = tool.default_port;
  options.job.tool = tool.id;
  words.size = std::to_string(tool.default_size_bytes);
  if (tool.default_size_bytes % 1024 == 0) words.size = std::to_string(tool.default_size_bytes / 1024) + "K";

  CLI::App app(tool.summary, tool.name);
  app.set_version_flag("--version", version_line(tool));
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return failed->get_name() + ": " + error.what() + " (see --help)\n";
  });
  add_options(app, tool, options, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw tools::Exit{app.exit(error) == 0 ? 0 : 2};
  }
  options.pin = !words.no_pin;
  options.job.size_bytes = tools::parse_size(words.size);
  const KindTraits& kind = traits_of(options.job.kind);
  options.job.depth = words.depth != 0                                     ? words.depth
                      : tool.depth_is_an_option && kind.depth_default != 0 ? kind.depth_default
                                                                           : tool.default_depth;
  options.limit.count = words.count;
  if (words.seconds == 0) words.seconds = options.sweep ? kDefaultSweepSeconds : kDefaultSeconds;
  options.limit.time_ns =
      static_cast<std::uint64_t>(std::llround(words.seconds * static_cast<double>(tools::kNsPerSecond)));
  if (app.count("--flip") > 0) options.limit.flip_message = words.flip_message;
  check_role(words, options);
  check_job(options);
  return options;
}

}  // namespace perf
