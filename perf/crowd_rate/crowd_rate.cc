// crowd-rate: messages a second, and the time of each, on the active ones of many connections to one server. It runs over exs, or over
// plain TCP and epoll for comparison. It has two processes, server and clients.
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <exception>
#include <sstream>
#include <thread>

#include "perf/crowd_rate/ends.h"
#include "perf/crowd_rate/load.h"
#include "perf/support/endpoint.h"
#include "perf/support/times.h"
#include "tools/common/child_process.h"
#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/descriptor_limit.h"
#include "tools/common/failure.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"
#include "tools/common/units.h"

namespace crowd_rate {
namespace {

using tools::Json;

constexpr std::uint32_t kConnectionsMax = 100'000;
constexpr std::uint32_t kThreadsMax = 64;
constexpr std::uint32_t kSizeMaxBytes = 65'536;
constexpr std::uint64_t kSpareDescriptors = 64;

bool is_pinned(const Settings& settings) {
  return settings.pin && settings.threads == 1;
}

// The whole server process.
int serve(const Settings& settings, int ports_out) {
  if (is_pinned(settings)) tools::pin_to_core(1);
  std::unique_ptr<perf::Library> library;
  if (settings.by_exs) library = std::make_unique<perf::Library>();
  std::vector<std::unique_ptr<Server>> servers;
  for (std::uint32_t i = 0; i < settings.threads; ++i)
    servers.push_back(settings.by_exs ? make_exs_server(settings) : make_epoll_server(settings));
  for (const auto& server : servers) {
    const std::uint16_t port = server->port();
    if (write(ports_out, &port, sizeof port) != sizeof port) tools::fail("cannot tell the port", errno);
  }
  // Runs until the process ends: the client ends it by a signal, or the clients close, which is no failure.
  const auto run = [](Server& server) {
    try {
      server.serve();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "crowd-rate: the server: %s\n", error.what());
      _exit(1);
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < servers.size(); ++i) threads.emplace_back([&, i] { run(*servers[i]); });
  run(*servers.front());
  return 0;
}

std::vector<std::uint16_t> read_ports(int ports_in, std::uint32_t count) {
  std::vector<std::uint16_t> ports(count);
  for (std::uint16_t& port : ports) {
    if (read(ports_in, &port, sizeof port) != sizeof port) throw tools::Failure("the server has ended");
  }
  return ports;
}

Json::Object object_of(const Load& load) {
  const auto us = [](double ns) { return std::round(ns / 10) / 100; };
  const double share = static_cast<double>(load.least) * load.active / static_cast<double>(load.messages);
  return {{"active", load.active},
          {"seconds", load.seconds},
          {"messages", load.messages},
          {"messages_per_second", std::round(static_cast<double>(load.messages) / load.seconds)},
          {"round_trip_us", json_of(perf::times_of(load.round_trips, us))},
          {"least_share", load.messages == 0 ? 0 : share}};
}

void print_row(const Load& load) {
  const double share = static_cast<double>(load.least) * load.active / static_cast<double>(load.messages);
  std::printf("%8u %12s %10.1f %10.1f %12.2f\n", load.active,
              tools::format_count(static_cast<double>(load.messages) / load.seconds).c_str(),
              static_cast<double>(load.round_trips.percentile_ns(0.5)) / 1000,
              static_cast<double>(load.round_trips.percentile_ns(0.99)) / 1000, share);
  std::fflush(stdout);
}

void print_head(const Settings& settings, const Client& client, double open_seconds) {
  std::printf("crowd-rate: %s, %u connections opened in %.2f s, wait %s, %u threads of the server\n",
              client.provider().c_str(), settings.connections, open_seconds, perf::name_of(settings.wait),
              settings.threads);
  std::printf("%8s %12s %10s %10s %12s\n", "active", "messages/s", "p50 us", "p99 us", "least share");
}

void print_json(const Settings& settings, const Client& client, double open_seconds,
                const std::vector<Load>& loads) {
  Json::Array measured;
  for (const Load& load : loads) measured.emplace_back(object_of(load));
  Json::Object out = tools::begin_results("crowd-rate");
  out.insert(out.end(), {{"provider", client.provider()},
                         {"connections", settings.connections},
                         {"threads", settings.threads},
                         {"size_bytes", settings.size_bytes},
                         {"wait", perf::name_of(settings.wait)},
                         {"pinned", is_pinned(settings)},
                         {"open_seconds", open_seconds},
                         {"loads", std::move(measured)}});
  tools::print_json(out);
}

void run(const Settings& settings) {
  int ports[2];
  if (pipe(ports) != 0) tools::fail("pipe", errno);
  tools::ChildProcess server([&] {
    close(ports[0]);
    return serve(settings, ports[1]);
  });
  close(ports[1]);
  if (is_pinned(settings)) tools::pin_to_core(0);
  const std::unique_ptr<Client> client =
      settings.by_exs ? make_exs_client(settings) : make_epoll_client(settings);
  tools::Stopwatch watch;
  watch.start();
  client->open(read_ports(ports[0], settings.threads));
  watch.stop();
  const double open_seconds = tools::seconds_of(watch.wall_ns());
  if (!settings.json) print_head(settings, *client, open_seconds);
  std::vector<Load> loads;
  for (const std::uint32_t active : settings.active) {
    loads.push_back(measure_load(*client, settings, active));
    if (!settings.json) print_row(loads.back());
  }
  if (settings.json) print_json(settings, *client, open_seconds, loads);
  server.stop();  // before the connections close one by one
}

std::vector<std::uint32_t> parse_active(const std::string& list, std::uint32_t connections) {
  std::vector<std::uint32_t> out;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const std::uint64_t active = tools::parse_size(word);
    if (active < 1 || active > connections) throw tools::UsageError("--active must be 1 to --connections");
    out.push_back(static_cast<std::uint32_t>(active));
  }
  if (out.empty()) throw tools::UsageError("--active names no number of connections");
  return out;
}

Settings parse(int argc, const char* const* argv) {
  Settings settings;
  std::string by = "exs";
  std::string active = "1,10,100,1000";
  double seconds = 1;
  bool no_pin = false;
  tools::CommandLine line("crowd-rate", "the rate of the active ones of many connections to one server");
  line.add("--by", by, "exs, or epoll: plain TCP sockets").one_of({"exs", "epoll"}).shows_default();
  line.add("--provider", settings.provider, "With --by exs: iwarp or shm").shows_default();
  line.add("--connections", settings.connections, "Connections")
      .between(std::uint64_t{1}, std::uint64_t{kConnectionsMax})
      .shows_default();
  line.add("--active", active, "How many of them send and receive, with commas: one measurement each")
      .shows_default();
  line.add("--threads", settings.threads, "Of the server, each with a queue, or an epoll set, and its share")
      .between(std::uint64_t{1}, std::uint64_t{kThreadsMax})
      .shows_default();
  line.add("--size", settings.size_bytes, "Bytes in a message")
      .between(std::uint64_t{4}, std::uint64_t{kSizeMaxBytes})
      .shows_default();
  line.add_choice(
      "--wait", {"notify", "busy"},
      [&](std::size_t index) { settings.wait = index == 0 ? perf::Wait::notify : perf::Wait::busy; },
      "notify (default): both ends sleep. busy: both poll");
  line.add("--time", seconds, "Seconds of a measurement").between(tools::kSecondsMin, 3600.0).shows_default();
  line.add_json_flag(settings.json);
  line.add_flag("--no-pin", no_pin, "Leave the choice of cores to the system, as with several --threads");
  line.parse(argc, argv);
  settings.by_exs = by == "exs";
  settings.active = parse_active(active, settings.connections);
  settings.time_ns = tools::ns_of(seconds);
  settings.pin = !no_pin;
  const std::uint64_t limit = tools::raise_descriptor_limit();
  if (limit < settings.connections + kSpareDescriptors)
    throw tools::Failure(tools::format("the limit of descriptors is %llu (ulimit -Hn): fewer --connections",
                                       static_cast<unsigned long long>(limit)));
  return settings;
}

}  // namespace
}  // namespace crowd_rate

int main(int argc, char** argv) {
  return tools::run_main("crowd-rate", [&] {
    crowd_rate::run(crowd_rate::parse(argc, argv));
    return 0;
  });
}
