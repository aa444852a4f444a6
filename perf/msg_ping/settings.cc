// SPDX-License-Identifier: BSD-2-Clause
#include "perf/msg_ping/settings.h"

#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/units.h"

namespace msg_ping {
namespace {

constexpr std::uint64_t kSizeMaxBytes = std::uint64_t{1} << 30U;
constexpr std::uint64_t kWindowMax = 4096;

}  // namespace

Settings parse(int argc, const char* const* argv) {
  Settings settings;
  std::string sizes = "0,8,64,1K,8K,64K,1M";
  bool no_pin = false;
  tools::CommandLine line("exs-msg-ping",
                          "time and rate of messages with tags between two ranks, by their size");
  line.group("Ranks");
  line.add_flag("--self", settings.is_self,
                "Run both ranks here, in two processes, instead of by exs-run -n 2");
  line.add_flag("--no-pin", no_pin, "With --self: leave the choice of cores to the system");
  line.add("--provider", settings.provider, "Provider of exs to use")
      .one_of({"auto", "iwarp", "shm", "verbs"})
      .shows_default();
  line.group("Messages");
  line.add("--size", sizes, "Bytes of a message, several with commas").shows_default();
  line.add("--messages", settings.messages, "Messages to measure, of each size; fewer long ones")
      .between(std::uint64_t{1}, std::uint64_t{100'000'000})
      .shows_default();
  line.add("--warm-up", settings.warmup, "Messages before them").shows_default();
  line.add("--window", settings.window,
           "Messages of one direction that are pending at once; 0: one, there and back")
      .between(std::uint64_t{0}, kWindowMax)
      .shows_default();
  line.add("--compute", settings.compute_us,
           "Microseconds that both ranks compute while a message travels, up to 200 times: how much of its "
           "time that hides")
      .between(std::uint64_t{0}, std::uint64_t{1'000'000})
      .shows_default();
  line.add_flag(
      "--one-buffer", settings.one_buffer,
      "All messages go to one buffer, which may stay in a cache; without --window it is sent from, too");
  line.group("Checks and output");
  line.add_flag("--verify", settings.verify, "Check every byte that arrives");
  line.add_json_flag(settings.json);
  line.parse(argc, argv);
  settings.sizes = tools::parse_sizes(sizes, kSizeMaxBytes);
  settings.pin = !no_pin;
  if (settings.compute_us > 0 && (settings.window > 0 || settings.verify))
    throw tools::UsageError("--compute is for one message at a time, whose bytes it does not look at");
  if (settings.one_buffer && settings.verify)
    throw tools::UsageError("--verify needs a buffer for each message: leave out --one-buffer");
  return settings;
}

}  // namespace msg_ping
