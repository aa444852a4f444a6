// exs-crowd: many connections to one server process at the same time, and the cost of each.
//
// The server is this process, so that it can count its own descriptors and memory. All connections are opened, then all exchange messages
// at once, then all are closed. Between these phases, while no bytes move, the server measures itself.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/descriptor_limit.h"
#include "tools/common/failure.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"
#include "tools/common/units.h"
#include "tools/crowd/client_process.h"
#include "tools/crowd/echo_server.h"
#include "tools/crowd/process_resources.h"
#include "tools/crowd/progress.h"
#include "tools/crowd/settings.h"

namespace crowd {
namespace {

constexpr std::uint64_t kConnectionsMax = 1'000'000;
constexpr std::uint64_t kPairsMax = 1'000'000;
constexpr std::uint64_t kSizeMaxBytes = 65536;
constexpr std::uint64_t kRoundsMax = 1000;
constexpr std::uint64_t kProcessesMax = 64;
constexpr std::uint64_t kSpareDescriptors = 64;  // for the library and the program
constexpr double kKiB = 1024;
// A sanitizer's allocator pads blocks and keeps freed ones, so memory is not judged with it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsJudged = false;
#else
constexpr bool kMemoryIsJudged = true;
#endif
// The limit of the server's memory per open connection. It is judged from this many connections on: with fewer, the process itself takes
// too large a part.
constexpr std::uint64_t kBoundBytes = 24 * 1024;
constexpr std::uint32_t kJudgedFrom = 100;
// The limit of growth from one round to the next: the layout of a heap varies a little.
constexpr std::int64_t kGrowthMaxBytes = 2 * 1024 * 1024;
constexpr std::int64_t kGrowthMaxBytesEach = 256;

struct Round {
  double connect_seconds = 0;
  double exchange_seconds = 0;
  double close_seconds = 0;
  ProcessMemory open;    // all connections open, their messages exchanged
  ProcessMemory closed;  // all closed
};

struct Results {
  std::string provider;
  std::vector<Round> rounds;
  ProcessMemory before;  // after one connection of each client process was opened and closed
  std::size_t descriptors_before = 0;
  std::size_t descriptors_after = 0;
  std::size_t sockets_left = 0;
  ErrorCount errors;
};

class LoadTest {
 public:
  explicit LoadTest(const Settings& settings) : settings_(settings) {
    for (std::uint32_t i = 0; i < settings.processes; ++i)
      clients_.push_back(std::make_unique<ClientProcess>(settings));
    end_on_signals();  // this process; the clients end with it
  }

  Results run() {
    const exs::cpp::Library library;
    EchoServer server(settings_);
    // In any case the clients end before the server closes its connections: it would wait for each of them.
    const ClientsEnd clients_end{clients_};
    Results results;
    run_round(server, "warm-up", settings_.processes);
    results.before = measure_memory();
    results.descriptors_before = count_descriptors();
    for (std::uint32_t i = 1; i <= settings_.rounds; ++i) {
      results.rounds.push_back(
          run_round(server, tools::format("round %u of %u", i, settings_.rounds), settings_.connections));
    }
    results.descriptors_after = count_descriptors();
    results.sockets_left = server.open_sockets();
    results.provider = server.provider();
    results.errors = server.errors();
    for (const auto& process : clients_) results.errors.add(process->errors());
    return results;
  }

 private:
  using Clients = std::vector<std::unique_ptr<ClientProcess>>;
  struct ClientsEnd {
    Clients& clients;
    ~ClientsEnd() { clients.clear(); }
  };

  Round run_round(EchoServer& server, const std::string& name, std::uint32_t connections) {
    Round round;
    server.reset();
    const std::uint64_t messages = std::uint64_t{connections} * settings_.pairs;
    progress_.begin(name + ", connecting", connections);
    round.connect_seconds = run_phase(server, {Phase::connect, connections, 0});
    progress_.begin(name + ", exchanging messages", messages);
    round.exchange_seconds = run_phase(server, {Phase::exchange, connections, messages});
    round.open = measure_memory();
    progress_.begin(name + ", closing", connections);
    round.close_seconds = run_phase(server, {Phase::close, connections, messages});
    round.closed = measure_memory();
    return round;
  }

  // Returns the seconds that the phase took.
  double run_phase(EchoServer& server, const Goal& goal) {
    tools::Stopwatch watch;
    watch.start();
    std::uint32_t left = goal.connections;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const auto share = left / static_cast<std::uint32_t>(clients_.size() - i);
      clients_[i]->start_phase(goal.phase, server.port(), share);
      left -= share;
    }
    server.serve(clients_, goal, progress_);
    watch.stop();
    return tools::seconds_of(watch.wall_ns());
  }

  const Settings& settings_;
  Progress progress_;
  Clients clients_;
};

// The figures of the last round, and whether they are within their bounds.
struct Assessment {
  Assessment(const Settings& settings, const Results& results) {
    const auto connections = static_cast<std::int64_t>(settings.connections);
    const auto more = [connections](std::uint64_t now, std::uint64_t then) {
      return (static_cast<std::int64_t>(now) - static_cast<std::int64_t>(then)) / connections;
    };
    const Round& last = results.rounds.back();
    resident_bytes = more(last.open.resident_bytes, results.before.resident_bytes);
    anonymous_bytes = more(last.open.anonymous_bytes, results.before.anonymous_bytes);
    if (results.rounds.size() > 1) {
      grown_bytes =
          more(last.open.resident_bytes, results.rounds[results.rounds.size() - 2].open.resident_bytes);
    }
    if (kMemoryIsJudged && settings.connections >= kJudgedFrom)
      bound_is_met = resident_bytes <= static_cast<std::int64_t>(kBoundBytes);
    nothing_is_left =
        results.sockets_left == 0 && results.descriptors_after == results.descriptors_before &&
        (!kMemoryIsJudged || grown_bytes <= kGrowthMaxBytesEach + kGrowthMaxBytes / connections);
    is_good = bound_is_met.value_or(true) && nothing_is_left && results.errors.count == 0;
  }

  // Of one connection.
  std::int64_t resident_bytes = 0;
  std::int64_t anonymous_bytes = 0;
  std::int64_t grown_bytes = 0;      // compared with the round before the last
  std::optional<bool> bound_is_met;  // nullopt: not judged
  bool nothing_is_left = false;
  bool is_good = false;
};

void print_json(const Settings& settings, const Results& results, const Assessment& assessment) {
  tools::Json::Array rounds;
  for (const Round& round : results.rounds) {
    rounds.emplace_back(tools::Json::Object{{"connect_seconds", round.connect_seconds},
                                            {"exchange_seconds", round.exchange_seconds},
                                            {"close_seconds", round.close_seconds},
                                            {"open_resident_bytes", round.open.resident_bytes},
                                            {"open_anonymous_bytes", round.open.anonymous_bytes},
                                            {"closed_resident_bytes", round.closed.resident_bytes}});
  }
  const tools::Json::Object figures{{"provider", results.provider},
                                    {"connections", settings.connections},
                                    {"pairs", settings.pairs},
                                    {"size_bytes", settings.size_bytes},
                                    {"client_processes", settings.processes},
                                    {"pool_buffers", settings.pool},
                                    {"errors", results.errors.count},
                                    {"first_error", results.errors.first},
                                    {"resident_bytes_per_connection", assessment.resident_bytes},
                                    {"anonymous_bytes_per_connection", assessment.anonymous_bytes},
                                    {"bound_bytes_per_connection", kBoundBytes},
                                    {"bound_met", assessment.bound_is_met},
                                    {"grown_bytes_per_connection", assessment.grown_bytes},
                                    {"exs_descriptors_left", results.sockets_left},
                                    {"kernel_descriptors_before", results.descriptors_before},
                                    {"kernel_descriptors_after", results.descriptors_after},
                                    {"nothing_left", assessment.nothing_is_left},
                                    {"before_resident_bytes", results.before.resident_bytes},
                                    {"rounds", rounds}};
  tools::Json::Object out = tools::begin_results("exs-crowd");
  out.insert(out.end(), figures.begin(), figures.end());
  tools::print_json(out);
}

void print_text(const Settings& settings, const Results& results, const Assessment& assessment) {
  std::printf(
      "exs-crowd %s: provider %s, %u connections to one server process, %u pairs of %u B on each, "
      "clients in %u processes\n",
      exs_version_string(), results.provider.c_str(), settings.connections, settings.pairs,
      settings.size_bytes, settings.processes);
  std::printf("round  connect s  exchange s  pairs/s  close s  open: resident  closed: resident\n");
  for (std::size_t i = 0; i < results.rounds.size(); ++i) {
    const Round& round = results.rounds[i];
    const double pairs = static_cast<double>(settings.connections) * settings.pairs;
    std::printf("%5zu  %9.2f  %10.2f  %7s  %7.2f  %10.1f MiB  %12.1f MiB\n", i + 1, round.connect_seconds,
                round.exchange_seconds, tools::format_count(pairs / round.exchange_seconds).c_str(),
                round.close_seconds, static_cast<double>(round.open.resident_bytes) / kKiB / kKiB,
                static_cast<double>(round.closed.resident_bytes) / kKiB / kKiB);
  }
  std::printf(
      "server, memory per open connection: %.1f KiB resident, %.1f KiB of it anonymous; at most %g: %s\n",
      static_cast<double>(assessment.resident_bytes) / kKiB,
      static_cast<double>(assessment.anonymous_bytes) / kKiB, kBoundBytes / kKiB,
      !assessment.bound_is_met   ? "not judged"
      : *assessment.bound_is_met ? "met"
                                 : "missed");
  if (results.rounds.size() > 1) {
    std::printf("server, grown in the last round: %.2f KiB a connection\n",
                static_cast<double>(assessment.grown_bytes) / kKiB);
  }
  std::printf("server, after closing: %zu exs descriptors left; %zu kernel descriptors, %zu before: %s\n",
              results.sockets_left, results.descriptors_after, results.descriptors_before,
              assessment.nothing_is_left ? "nothing left" : "something is left");
  std::printf("errors: %llu\n", static_cast<unsigned long long>(results.errors.count));
}

// Throws Failure if this machine does not allow so many connections.
void check_limits(const Settings& settings) {
  const std::uint64_t allowed = tools::raise_descriptor_limit();
  if (settings.connections + kSpareDescriptors > allowed) {
    throw tools::Failure(tools::format(
        "%u connections need %llu descriptors in the server and this process may have %llu: raise "
        "the hard limit (ulimit -Hn, LimitNOFILE= of a service) or give --connections %llu",
        settings.connections, static_cast<unsigned long long>(settings.connections + kSpareDescriptors),
        static_cast<unsigned long long>(allowed),
        static_cast<unsigned long long>(allowed > kSpareDescriptors ? allowed - kSpareDescriptors : 1)));
  }
  if (settings.connections > count_local_ports()) {
    throw tools::Failure(
        tools::format("%u connections to one port need as many local ports and this machine has %llu: widen "
                      "net.ipv4.ip_local_port_range (sysctl)",
                      settings.connections, static_cast<unsigned long long>(count_local_ports())));
  }
}

Settings parse(int argc, const char* const* argv) {
  Settings settings;
  const std::uint64_t one = 1;
  tools::CommandLine line("exs-crowd",
                          "many connections to one server process at once, and what each costs it");
  line.group("Load");
  line.add("--connections", settings.connections, "Connections that are open at the same time")
      .between(one, kConnectionsMax)
      .shows_default();
  line.add("--pairs", settings.pairs, "Requests, each with its response, on every connection")
      .between(one, kPairsMax)
      .shows_default();
  line.add("--size", settings.size_bytes, "Bytes in a request and in a response, 1 to 65536")
      .between(one, kSizeMaxBytes)
      .shows_default();
  line.add("--rounds", settings.rounds, "How often all are opened, used and closed")
      .between(one, kRoundsMax)
      .shows_default();
  line.add("--processes", settings.processes, "Processes that the clients are spread over")
      .between(one, kProcessesMax)
      .shows_default();
  line.add("--pool", settings.pool,
           "Receive buffers of the server that its connections share (exs_recv_pooled); 0: each has one of "
           "its own")
      .between(std::uint64_t{0}, kConnectionsMax)
      .shows_default();
  line.group("Ends");
  line.add("--provider", settings.provider, "Provider of both ends").shows_default();
  line.add_bind_address(settings.address);
  line.group("Checks and output");
  line.add_flag("--flip", settings.flip, "Corrupt a byte of one request of each process, to test the check");
  line.add_json_flag(settings.json);
  line.parse(argc, argv);
  if (settings.processes > settings.connections)
    throw tools::UsageError("--processes must be no more than --connections");
  return settings;
}

int run(const Settings& settings) {
  check_limits(settings);
  const Results results = LoadTest(settings).run();
  const Assessment assessment(settings, results);
  (settings.json ? print_json : print_text)(settings, results, assessment);
  if (results.errors.count > 0)
    std::fprintf(stderr, "exs-crowd: the first error: %s\n", results.errors.first.c_str());
  return assessment.is_good ? 0 : 1;
}

}  // namespace
}  // namespace crowd

int main(int argc, char** argv) {
  return tools::run_main("exs-crowd", [&] { return crowd::run(crowd::parse(argc, argv)); });
}
