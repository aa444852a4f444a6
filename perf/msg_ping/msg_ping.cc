// exs-msg-ping: time and rate of messages with tags between two ranks, by their size.
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <exs/msg.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/socket_address.h"
#include "perf/msg_ping/overlap.h"
#include "perf/msg_ping/settings.h"
#include "perf/support/times.h"
#include "tools/common/child_process.h"
#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/histogram.h"
#include "tools/common/interrupt.h"
#include "tools/common/json.h"
#include "tools/common/progress_line.h"
#include "tools/common/run_info.h"
#include "tools/common/units.h"

namespace msg_ping {
namespace {

using tools::Json;

constexpr int kTag = 1;
constexpr int kEndTag = 2;
constexpr int kExitInterrupted = 130;

struct Result {
  std::uint64_t size_bytes = 0;
  std::uint64_t messages = 0;
  std::uint64_t elapsed_ns = 0;
  tools::Histogram round_trips;
};

void check(int outcome, const char* what) {
  if (outcome < 0) tools::fail(what, errno);
}

void fill(std::vector<char>& bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + seed);
}

class Rank {
 public:
  Rank(exm_ep_t ep, const Settings& settings) : ep_(ep), settings_(settings), is_first_(exm_rank(ep) == 0) {}

  Result measure(std::uint64_t size_bytes) {
    Result result;
    result.size_bytes = size_bytes;
    result.messages = messages_of(size_bytes, settings_.messages);
    const std::uint64_t warmup =
        std::max(1UL, std::min<std::uint64_t>(settings_.warmup, result.messages / 10));
    line_.begin(tools::format_size(size_bytes), "messages", {result.messages, 0});
    if (settings_.window == 0) {
      to_and_fro(size_bytes, warmup, nullptr);
      tools::Stopwatch watch;
      watch.start();
      result.messages = to_and_fro(size_bytes, result.messages, &result.round_trips);
      watch.stop();
      result.elapsed_ns = watch.wall_ns();
    } else {
      one_way(size_bytes, warmup, false);
      tools::Stopwatch watch;
      watch.start();
      result.messages = one_way(size_bytes, result.messages, true);
      watch.stop();
      result.elapsed_ns = watch.wall_ns();
    }
    line_.clear();
    return result;
  }

 private:
  // Fewer long messages suffice.
  static std::uint64_t messages_of(std::uint64_t size_bytes, std::uint64_t wish) {
    constexpr std::uint64_t kBytesAtMost = std::uint64_t{8} << 30U;
    return size_bytes == 0 ? wish : std::max<std::uint64_t>(20, std::min(wish, kBytesAtMost / size_bytes));
  }

  // Returns the number of rounds. After a signal the first rank begins no more rounds, and the other waits until the job ends.
  std::uint64_t to_and_fro(std::uint64_t size_bytes, std::uint64_t rounds, tools::Histogram* times) {
    out_.resize(size_bytes);
    in_.resize(size_bytes);
    for (std::uint64_t i = 0; i < rounds; ++i) {
      if (is_first_ && tools::interrupted()) return i;
      if (settings_.verify) fill(out_, i);
      const std::uint64_t begun_ns = is_first_ && times != nullptr ? exs::monotonic_ns() : 0;
      if (is_first_) send(1, kTag);
      receive(is_first_ ? 1 : 0, kTag);
      if (!is_first_) send(0, kTag);
      if (begun_ns != 0) note(i + 1, begun_ns, *times);
      if (settings_.verify && in_ != out_)
        throw tools::Failure("the bytes of a message are not those that were sent");
    }
    return rounds;
  }
  void note(std::uint64_t rounds, std::uint64_t begun_ns, tools::Histogram& times) {
    const std::uint64_t now_ns = exs::monotonic_ns();
    times.record(now_ns - begun_ns);
    line_.update(rounds, now_ns);
  }
  void send(int to, int tag) { check(exm_send(ep_, out_.data(), out_.size(), to, tag, 0, 0), "cannot send"); }
  void receive(int from, int tag) {
    std::vector<char>& into = settings_.one_buffer ? out_ : in_;
    check(exm_recv(ep_, into.data(), into.size(), from, tag, 0, nullptr), "cannot receive");
  }

  // Sends a window of messages at once, and waits for an empty reply. Returns the number of messages.
  std::uint64_t one_way(std::uint64_t size_bytes, std::uint64_t messages, bool counts) {
    const std::uint64_t rounds = std::max<std::uint64_t>(1, messages / settings_.window);
    out_.resize(size_bytes);
    in_.resize(size_bytes * (settings_.one_buffer ? 1 : settings_.window));
    requests_.resize(settings_.window);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      if (is_first_ && tools::interrupted()) return round * settings_.window;
      if (settings_.verify) fill(out_, round);
      for (std::uint32_t i = 0; i < settings_.window; ++i) begin(i, size_bytes);
      check(exm_waitall(ep_, requests_.data(), static_cast<int>(settings_.window), nullptr, -1),
            "cannot wait");
      if (settings_.verify && !is_first_) look(size_bytes);
      const int outcome = is_first_ ? exm_recv(ep_, nullptr, 0, 1, kEndTag, 0, nullptr)
                                    : exm_send(ep_, nullptr, 0, 0, kEndTag, 0, 0);
      check(outcome, "cannot end a round");
      if (counts && is_first_) line_.update((round + 1) * settings_.window);
    }
    return rounds * settings_.window;
  }
  void begin(std::uint32_t index, std::uint64_t size_bytes) {
    if (is_first_) {
      check(exm_isend(ep_, out_.data(), size_bytes, 1, kTag, 0, 0, &requests_[index]), "cannot send");
    } else {
      char* const into = in_.data() + (settings_.one_buffer ? 0 : index * size_bytes);
      check(exm_irecv(ep_, into, size_bytes, 0, kTag, 0, &requests_[index]), "cannot receive");
    }
  }
  void look(std::uint64_t size_bytes) {
    for (std::uint32_t i = 0; i < settings_.window; ++i) {
      if (!std::equal(out_.begin(), out_.end(), in_.begin() + static_cast<std::ptrdiff_t>(i * size_bytes)))
        throw tools::Failure("the bytes of a message are not those that were sent");
    }
  }

  const exm_ep_t ep_;
  const Settings& settings_;
  const bool is_first_;
  std::vector<char> out_;
  std::vector<char> in_;
  std::vector<exm_request_t> requests_;
  tools::ProgressLine line_;  // of the first rank
};

double us_of(double ns) {
  return std::round(ns) / 1000;
}
double one_way_us(const Result& result) {
  return us_of(static_cast<double>(result.elapsed_ns) / static_cast<double>(result.messages) / 2);
}
double per_second(const Result& result, double amount) {
  return amount * static_cast<double>(result.messages) * 1e9 / static_cast<double>(result.elapsed_ns);
}

Json::Object object_of(const Result& result, const Settings& settings) {
  Json::Object object = {{"size_bytes", result.size_bytes}, {"messages", result.messages}};
  if (settings.window == 0) {
    object.emplace_back("one_way_us", one_way_us(result));
    object.emplace_back("round_trip_us", json_of(perf::times_of(result.round_trips, us_of)));
  } else {
    object.emplace_back("messages_per_second", std::round(per_second(result, 1)));
    object.emplace_back("bytes_per_second",
                        std::round(per_second(result, static_cast<double>(result.size_bytes))));
  }
  object.emplace_back("verified", settings.verify ? Json(true) : Json(nullptr));
  return object;
}

void print_row(const Result& result, const Settings& settings) {
  const std::string size = tools::format_size(result.size_bytes);
  if (settings.window == 0) {
    const perf::Times times = perf::times_of(result.round_trips, us_of);
    std::printf("%10s %12.3f %12.3f %12.3f %12.3f\n", size.c_str(), one_way_us(result), times.p50 / 2,
                times.p99 / 2, times.max / 2);
  } else {
    std::printf("%10s %12.3f %12.3f\n", size.c_str(), per_second(result, 1e-6),
                per_second(result, static_cast<double>(result.size_bytes) * 1e-9));
  }
  std::fflush(stdout);
}

void print_head(const Settings& settings) {
  std::printf("exs-msg-ping %s: ", exs_version_string());
  if (settings.window == 0) {
    std::printf("messages to and fro, one way\n%10s %12s %12s %12s %12s\n", "message", "mean us", "p50 us",
                "p99 us", "max us");
  } else {
    std::printf("%u messages under way\n%10s %12s %12s\n", settings.window, "message", "M/s", "GB/s");
  }
}

Json::Object object_of(const Overlap& overlap) {
  return {{"alone_us", us_of(overlap.alone_ns)},
          {"computed_us", us_of(overlap.computed_ns)},
          {"together_us", us_of(overlap.together_ns)},
          {"left_us", us_of(overlap.left_ns)},
          {"hidden_percent", std::round(overlap.hidden_percent() * 10) / 10},
          {"waited_percent", std::round(overlap.waited_percent() * 10) / 10}};
}

void print_overlap(const char* who, std::uint64_t size_bytes, const Overlap& overlap) {
  std::printf("%10s %10s %10.1f %10.1f %10.1f %10.1f %9.0f %%\n", tools::format_size(size_bytes).c_str(), who,
              overlap.alone_ns / 1e3, overlap.computed_ns / 1e3, overlap.together_ns / 1e3,
              overlap.left_ns / 1e3, overlap.hidden_percent());
}

[[noreturn]] void end_interrupted(exm_ep_t ep) {
  std::fflush(stdout);
  exm_abort(ep, kExitInterrupted);
  _exit(kExitInterrupted);
}

void print_overlap_head() {
  std::printf(
      "exs-msg-ping %s: means in us of a message, both ranks computing\n%10s %10s %10s %10s %10s %10s "
      "%11s\n",
      exs_version_string(), "message", "rank", "alone", "compute", "together", "left", "hidden");
}

void print_overlaps(const Settings& settings, const std::vector<Json::Object>& results) {
  Json::Object out = tools::begin_results("exs-msg-ping");
  out.emplace_back("compute_us", settings.compute_us);
  out.emplace_back("interrupted", tools::interrupted());
  out.emplace_back("sizes", tools::array_of(results));
  tools::print_json(out);
}

// Measures for each size how much computation hides a message's time.
void run_overlap(exm_ep_t ep, const Settings& settings) {
  constexpr std::uint64_t kRoundsMax = 200;
  const bool tells = exm_rank(ep) == 0;
  if (tells && !settings.json) print_overlap_head();
  OverlapMeasure measure(ep, std::uint64_t{settings.compute_us} * 1000);
  std::vector<Json::Object> results;
  for (const std::uint64_t size_bytes : settings.sizes) {
    const OverlapResult found =
        measure.measure(size_bytes, std::min<std::uint64_t>(settings.messages, kRoundsMax));
    if (tells && settings.json && found.rounds > 0) {
      results.push_back({{"size_bytes", size_bytes},
                         {"messages", found.rounds},
                         {"sender", object_of(found.sender)},
                         {"receiver", object_of(found.receiver)}});
    } else if (tells && found.rounds > 0) {
      print_overlap("sender", size_bytes, found.sender);
      print_overlap("receiver", size_bytes, found.receiver);
    }
    if (!tells || !tools::interrupted()) continue;
    if (settings.json) print_overlaps(settings, results);
    end_interrupted(ep);
  }
  check(exm_finalize(ep), "cannot leave the job");
  if (tells && settings.json) print_overlaps(settings, results);
}

// The first rank catches the signal and ends the job. The other one must still answer.
void hear_signals(bool is_first) {
  if (is_first) {
    tools::catch_interrupts();
  } else {
    std::signal(SIGINT, SIG_IGN);
  }
}

void print_results(const Settings& settings, const std::vector<Json::Object>& results) {
  Json::Object out = tools::begin_results("exs-msg-ping");
  out.emplace_back("window", settings.window);
  out.emplace_back("interrupted", tools::interrupted());
  out.emplace_back("sizes", tools::array_of(results));
  tools::print_json(out);
}

void run_rank(exm_ep_t ep, const Settings& settings) {
  const bool tells = exm_rank(ep) == 0;
  hear_signals(tells);
  if (settings.compute_us > 0) return run_overlap(ep, settings);
  Rank rank(ep, settings);
  if (tells && !settings.json) print_head(settings);
  std::vector<Json::Object> results;
  for (const std::uint64_t size_bytes : settings.sizes) {
    const Result result = rank.measure(size_bytes);
    if (tells && settings.json && result.messages > 0) results.push_back(object_of(result, settings));
    if (tells && !settings.json && result.messages > 0) print_row(result, settings);
    if (tells && tools::interrupted()) {
      if (settings.json) print_results(settings, results);
      end_interrupted(ep);
    }
  }
  check(exm_finalize(ep), "cannot leave the job");
  if (tells && settings.json) print_results(settings, results);
}

// Returns an address whose port nobody else gets while this socket holds it. Neither rank listens there before exm_init().
std::string free_address(int& holder) {
  holder = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_storage address = exs::v4_address(in_addr{htonl(INADDR_LOOPBACK)}, 0);
  sockaddr* const generic = exs::as_sockaddr(address);
  socklen_t length = sizeof(sockaddr_in);
  check(bind(holder, generic, length), "cannot bind");
  check(getsockname(holder, generic, &length), "cannot bind");
  return exs::text_of(address);
}

void run_listed(const Settings& settings, int rank, const std::array<std::string, 2>& names) {
  if (settings.pin) tools::pin_to_core(static_cast<unsigned>(rank));
  const std::array<const char*, 2> addresses{names[0].c_str(), names[1].c_str()};
  exm_config_t config{};
  config.struct_bytes = sizeof config;
  config.rank = rank;
  config.size = 2;
  config.addresses = addresses.data();
  exm_ep_t ep = nullptr;
  check(exm_init(&config, &ep), "cannot join the job");
  run_rank(ep, settings);
}

void run_both(const Settings& settings) {
  std::array<int, 2> holders{};
  const std::array<std::string, 2> names{free_address(holders[0]), free_address(holders[1])};
  tools::ChildProcess other([&] {
    run_listed(settings, 1, names);
    return 0;
  });
  run_listed(settings, 0, names);
}

int run(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  if (settings.provider != "auto") setenv("EXS_PROVIDER", settings.provider.c_str(), 1);
  if (settings.is_self) {
    run_both(settings);
    return 0;
  }
  exm_ep_t ep = nullptr;
  check(exm_init(nullptr, &ep), "cannot join the job");
  if (exm_size(ep) != 2) {
    exm_finalize(ep);
    throw tools::UsageError("there are to be two ranks: exs-run -n 2 exs-msg-ping, or --self");
  }
  run_rank(ep, settings);
  return 0;
}

}  // namespace
}  // namespace msg_ping

int main(int argc, char** argv) {
  return tools::run_main("exs-msg-ping", [&] { return msg_ping::run(argc, argv); });
}
