// exs-crowd: many connections to one server process at the same time, and what each of them costs it.
//
// The server is this process, so that it can count its own descriptors and memory. Every connection is
// opened, then all of them exchange messages at once, then all are closed; the server looks at itself in
// between.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/report.h"
#include "tools/common/units.h"
#include "tools/crowd/crowd.h"
#include "tools/crowd/process.h"

namespace crowd {
namespace {

constexpr std::uint64_t kConnectionsMax = 1'000'000;
constexpr std::uint64_t kPairsMax = 1'000'000;
constexpr std::uint64_t kSizeMaxBytes = 65536;
constexpr std::uint64_t kRoundsMax = 1000;
constexpr std::uint64_t kProcessesMax = 64;
constexpr std::uint64_t kSpareDescriptors = 64;  // the library's own and the program's
constexpr double kKiB = 1024;
// A sanitizer's allocator pads what is in use and keeps what is freed: its memory is not judged.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kJudgesMemory = false;
#else
constexpr bool kJudgesMemory = true;
#endif
// What an open connection may cost the server. Of fewer connections the process's own beginnings are too
// large a part.
constexpr std::uint64_t kBoundBytes = 24 * 1024;
constexpr std::uint32_t kJudgedFrom = 100;
// What the last round may have grown: a heap is never twice quite the same.
constexpr std::int64_t kGrowthMaxBytes = 2 * 1024 * 1024;
constexpr std::int64_t kGrowthMaxBytesEach = 256;

struct Round {
  double connect_seconds = 0;
  double exchange_seconds = 0;
  double close_seconds = 0;
  ProcessMemory open;    // all connections open, their messages exchanged
  ProcessMemory closed;  // all closed
};

struct Outcome {
  std::string provider;
  std::vector<Round> rounds;
  ProcessMemory before;  // one connection for each client process has come and gone
  std::size_t descriptors_before = 0;
  std::size_t descriptors_after = 0;
  std::size_t sockets_left = 0;
  CrowdFaults faults;
};

class Crowd {
 public:
  explicit Crowd(const CrowdSettings& settings) : settings_(settings) {
    for (std::uint32_t i = 0; i < settings.processes; ++i)
      clients_.push_back(std::make_unique<CrowdClients>(settings));
  }

  Outcome run() {
    const exs::cpp::Library library;
    CrowdServer server(settings_);
    Outcome outcome;
    pass(server, settings_.processes);
    outcome.before = memory_of_process();
    outcome.descriptors_before = open_descriptors();
    for (std::uint32_t i = 0; i < settings_.rounds; ++i)
      outcome.rounds.push_back(pass(server, settings_.connections));
    outcome.descriptors_after = open_descriptors();
    outcome.sockets_left = server.open_sockets();
    outcome.provider = server.provider();
    outcome.faults = server.faults();
    for (const auto& process : clients_) outcome.faults.add(process->faults());
    return outcome;
  }

 private:
  Round pass(CrowdServer& server, std::uint32_t connections) {
    Round round;
    server.reset();
    round.connect_seconds = step(server, CrowdStep::connect, connections, connections, 0);
    const std::uint64_t messages = std::uint64_t{connections} * settings_.pairs;
    round.exchange_seconds = step(server, CrowdStep::exchange, connections, connections, messages);
    round.open = memory_of_process();
    round.close_seconds = step(server, CrowdStep::close, connections, 0, messages);
    round.closed = memory_of_process();
    return round;
  }

  // Seconds that it took.
  double step(CrowdServer& server, CrowdStep step, std::uint32_t connections, std::uint32_t open,
              std::uint64_t echoed) {
    tools::Stopwatch watch;
    watch.start();
    std::uint32_t left = connections;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const auto share = left / static_cast<std::uint32_t>(clients_.size() - i);
      clients_[i]->order(step, server.port(), share);
      left -= share;
    }
    server.serve(clients_, open, echoed);
    watch.stop();
    return tools::seconds_of(watch.wall_ns());
  }

  const CrowdSettings& settings_;
  std::vector<std::unique_ptr<CrowdClients>> clients_;
};

// What came of it, as figures.
struct Verdict {
  Verdict(const CrowdSettings& settings, const Outcome& outcome) {
    const auto connections = static_cast<std::int64_t>(settings.connections);
    const auto more = [connections](std::uint64_t now, std::uint64_t then) {
      return (static_cast<std::int64_t>(now) - static_cast<std::int64_t>(then)) / connections;
    };
    const Round& last = outcome.rounds.back();
    resident_bytes = more(last.open.resident_bytes, outcome.before.resident_bytes);
    anonymous_bytes = more(last.open.anonymous_bytes, outcome.before.anonymous_bytes);
    if (outcome.rounds.size() > 1) {
      grown_bytes = more(last.open.resident_bytes, outcome.rounds.end()[-2].open.resident_bytes);
    }
    if (kJudgesMemory && settings.connections >= kJudgedFrom)
      bound_is_met = resident_bytes <= static_cast<std::int64_t>(kBoundBytes);
    nothing_is_left = outcome.sockets_left == 0 && outcome.descriptors_after == outcome.descriptors_before &&
                      (!kJudgesMemory || grown_bytes <= kGrowthMaxBytesEach + kGrowthMaxBytes / connections);
    is_good = bound_is_met.value_or(true) && nothing_is_left && outcome.faults.count == 0;
  }

  // Of one connection.
  std::int64_t resident_bytes = 0;
  std::int64_t anonymous_bytes = 0;
  std::int64_t grown_bytes = 0;      // against the round before the last
  std::optional<bool> bound_is_met;  // nullopt: not judged
  bool nothing_is_left = false;
  bool is_good = false;
};

void print_json(const CrowdSettings& settings, const Outcome& outcome, const Verdict& verdict) {
  tools::Json::Array rounds;
  for (const Round& round : outcome.rounds) {
    rounds.emplace_back(tools::Json::Object{{"connect_seconds", round.connect_seconds},
                                            {"exchange_seconds", round.exchange_seconds},
                                            {"close_seconds", round.close_seconds},
                                            {"open_resident_bytes", round.open.resident_bytes},
                                            {"open_anonymous_bytes", round.open.anonymous_bytes},
                                            {"closed_resident_bytes", round.closed.resident_bytes}});
  }
  tools::print_json(tools::Json::Object{{"tool", "exs-crowd"},
                                        {"version", exs_version_string()},
                                        {"provider", outcome.provider},
                                        {"connections", settings.connections},
                                        {"pairs", settings.pairs},
                                        {"size_bytes", settings.size_bytes},
                                        {"client_processes", settings.processes},
                                        {"errors", outcome.faults.count},
                                        {"first_error", outcome.faults.first},
                                        {"resident_bytes_per_connection", verdict.resident_bytes},
                                        {"anonymous_bytes_per_connection", verdict.anonymous_bytes},
                                        {"bound_bytes_per_connection", kBoundBytes},
                                        {"bound_met", verdict.bound_is_met},
                                        {"grown_bytes_per_connection", verdict.grown_bytes},
                                        {"exs_descriptors_left", outcome.sockets_left},
                                        {"kernel_descriptors_before", outcome.descriptors_before},
                                        {"kernel_descriptors_after", outcome.descriptors_after},
                                        {"nothing_left", verdict.nothing_is_left},
                                        {"before_resident_bytes", outcome.before.resident_bytes},
                                        {"rounds", rounds}});
}

void print_text(const CrowdSettings& settings, const Outcome& outcome, const Verdict& verdict) {
  std::printf(
      "exs-crowd %s: provider %s, %u connections to one server process, %u pairs of %u B on each, "
      "clients in %u processes\n",
      exs_version_string(), outcome.provider.c_str(), settings.connections, settings.pairs,
      settings.size_bytes, settings.processes);
  std::printf("round  connect s  exchange s  pairs/s  close s  open: resident  closed: resident\n");
  for (std::size_t i = 0; i < outcome.rounds.size(); ++i) {
    const Round& round = outcome.rounds[i];
    const double pairs = static_cast<double>(settings.connections) * settings.pairs;
    std::printf("%5zu  %9.2f  %10.2f  %7s  %7.2f  %10.1f MiB  %12.1f MiB\n", i + 1, round.connect_seconds,
                round.exchange_seconds, tools::count_text(pairs / round.exchange_seconds).c_str(),
                round.close_seconds, static_cast<double>(round.open.resident_bytes) / kKiB / kKiB,
                static_cast<double>(round.closed.resident_bytes) / kKiB / kKiB);
  }
  std::printf(
      "server, memory per open connection: %.1f KiB resident, %.1f KiB of it anonymous; at most %g: %s\n",
      static_cast<double>(verdict.resident_bytes) / kKiB, static_cast<double>(verdict.anonymous_bytes) / kKiB,
      kBoundBytes / kKiB,
      !verdict.bound_is_met   ? "not judged"
      : *verdict.bound_is_met ? "met"
                              : "missed");
  if (outcome.rounds.size() > 1) {
    std::printf("server, grown in the last round: %.2f KiB a connection\n",
                static_cast<double>(verdict.grown_bytes) / kKiB);
  }
  std::printf("server, after closing: %zu exs descriptors left; %zu kernel descriptors, %zu before: %s\n",
              outcome.sockets_left, outcome.descriptors_after, outcome.descriptors_before,
              verdict.nothing_is_left ? "nothing left" : "something is left");
  std::printf("errors: %llu\n", static_cast<unsigned long long>(outcome.faults.count));
}

// What this machine cannot do is said before it is tried.
void check_room(const CrowdSettings& settings) {
  const std::uint64_t allowed = raise_descriptor_limit();
  if (settings.connections + kSpareDescriptors > allowed) {
    throw tools::Failure(tools::text(
        "%u connections need %llu descriptors in the server and this process may have %llu: raise "
        "the hard limit (ulimit -Hn, LimitNOFILE= of a service) or give --connections %llu",
        settings.connections, static_cast<unsigned long long>(settings.connections + kSpareDescriptors),
        static_cast<unsigned long long>(allowed),
        static_cast<unsigned long long>(allowed > kSpareDescriptors ? allowed - kSpareDescriptors : 1)));
  }
  if (settings.connections > local_ports()) {
    throw tools::Failure(
        tools::text("%u connections to one port need as many local ports and this machine has %llu: widen "
                    "net.ipv4.ip_local_port_range (sysctl)",
                    settings.connections, static_cast<unsigned long long>(local_ports())));
  }
}

CrowdSettings parse(int argc, const char* const* argv) {
  CrowdSettings settings;
  const std::uint64_t one = 1;
  tools::CommandLine line("exs-crowd",
                          "many connections to one server process at once, and what each costs it");
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
  line.add("--provider", settings.provider, "Provider of both ends").shows_default();
  line.add("--bind", settings.address, "IPv4 address of this machine that both ends use")
      .ipv4_address()
      .shows_default();
  line.add_flag("--flip", settings.flip,
                "Spoil a byte of one request of each process on purpose, to see that it is found");
  line.add_flag("--json", settings.json, "Print one JSON object in place of a table");
  line.parse(argc, argv);
  if (settings.processes > settings.connections)
    throw tools::UsageError("--processes must be no more than --connections");
  return settings;
}

int run(const CrowdSettings& settings) {
  check_room(settings);
  tools::catch_interrupts();
  const Outcome outcome = Crowd(settings).run();
  const Verdict verdict(settings, outcome);
  (settings.json ? print_json : print_text)(settings, outcome, verdict);
  if (outcome.faults.count > 0)
    std::fprintf(stderr, "exs-crowd: the first error: %s\n", outcome.faults.first.c_str());
  return verdict.is_good ? 0 : 1;
}

}  // namespace
}  // namespace crowd

int main(int argc, char** argv) {
  return tools::run_main("exs-crowd", [&] { return crowd::run(crowd::parse(argc, argv)); });
}
