// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/benchmark.h"

#include <cstdio>

#include "perf/support/report.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/sockets.h"

namespace perf {
namespace {

constexpr int kExitInterrupted = 130;

// Returns the exit status.
int judge(const Benchmark& benchmark, const Measurement& measured) {
  int status = measured.interrupted ? kExitInterrupted : 0;
  if (!measured.broken.empty()) {
    std::fprintf(stderr, "%s: %s\n", benchmark.name, measured.broken.c_str());
    status = 1;
  }
  if (measured.verified == false) {
    std::fprintf(stderr, "%s: verification failed: %s\n", benchmark.name, measured.fault.c_str());
    status = 1;
  }
  return status;
}

int run_client(const Benchmark& benchmark, const Options& options, const std::string& host,
               std::uint16_t port, bool pinned) {
  const Library library;
  Report report(benchmark, options);
  int status = 0;
  tools::catch_interrupts();
  for (const Job& job : options.jobs) {
    std::vector<Interval> intervals;
    Measurement measured = measure(benchmark, options, job, host, port, [&](const Interval& interval) {
      report.print(job, interval);
      intervals.push_back(interval);
    });
    measured.pinned = pinned;
    measured.intervals = std::move(intervals);
    report.add(measured);
    status = judge(benchmark, measured);
    if (status != 0) break;
  }
  report.finish();
  return status;
}

// Both ends on a simulated network.
int run_in_one_process(const Benchmark& benchmark, const Options& options) {
  const Library library;
  const ServerHere server(benchmark, options);
  const std::string host = options.bind_address.empty() ? "127.0.0.1" : options.bind_address;
  return run_client(benchmark, options, host, server.port(), false);
}

int run_role(const Benchmark& benchmark, const Options& options) {
  switch (options.role) {
    case Role::client: return run_client(benchmark, options, options.host, options.port, false);
    case Role::server: {
      ServerSettings settings;
      settings.address = options.bind_address;
      settings.port = options.port;
      settings.provider = options.provider;
      settings.quiet = options.format != Format::table;
      settings.one_client = options.one_client;
      return run_server(benchmark, settings);
    }
    case Role::self: {
      if (tools::is_simulated(options.provider)) return run_in_one_process(benchmark, options);
      ServerProcess server(benchmark, options);
      const std::string host = options.bind_address.empty() ? "127.0.0.1" : options.bind_address;
      const int status = run_client(benchmark, options, host, server.port(), server.pinned());
      if (!server.stop()) throw tools::Failure("the server's end did not end well");
      return status;
    }
  }
  return 2;
}

}  // namespace

int run(const Benchmark& benchmark, int argc, const char* const* argv) {
  return tools::run_main(benchmark.name, [&] {
    const Options options = parse_options(benchmark, argc, argv);
    tools::choose_for_process(options.provider);
    return run_role(benchmark, options);
  });
}

}  // namespace perf
