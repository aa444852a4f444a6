#include "perf/support/benchmark.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "perf/support/control.h"
#include "perf/support/report.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/units.h"

namespace perf {
namespace {

constexpr int kExitInterrupted = 130;

void ask(Channel& channel, const Job& job, const ConnectionOptions& connection_options) {
  channel.send_control(encode_request(job));
  Answer answer = decode_answer(channel.receive_control("no answer from the server"));
  if (answer.verdict == Verdict::connect) {
    channel.connect_data(answer.port, data_connections(job), traits_of(job.kind).socket_type,
                         connection_options);
    answer = decode_answer(channel.receive_control("no second answer from the server"));
  }
  if (answer.verdict != Verdict::accepted)
    throw tools::Failure("the server refuses: " + sentence_of(answer.verdict));
}

void check_small_max(const Socket& socket, const Job& job) {
  std::size_t agreed_bytes = 0;
  if (exs_fcntl(socket.number(), EXS_F_GET_SMALL_MAX, &agreed_bytes) == -1)
    tools::fail("cannot ask for the small maximum", errno);
  if (traits_of(job.kind).in_small_max && job.size_bytes > agreed_bytes) {
    throw tools::Failure("the server takes immediate messages of at most " + std::to_string(agreed_bytes) +
                         " bytes");
  }
}

const Method& method_of(const Benchmark& benchmark, Kind kind) {
  const auto method = std::ranges::find(benchmark.methods, kind, &Method::kind);
  if (method == benchmark.methods.end()) throw tools::UsageError(std::string("no --kind ") + name_of(kind));
  return *method;
}

Measurement merge(const Job& job, const Driven& driven) {
  Measurement out;
  out.job = job;
  out.interrupted = tools::interrupted();
  out.messages = driven.messages;
  out.seconds = tools::seconds_of(driven.watch.wall_ns());
  out.sender_cpu_percent = tools::cpu_percent(driven.watch.cpu_ns(), driven.watch.wall_ns());
  out.receiver_cpu_percent = tools::cpu_percent(driven.peer.cpu_ns, driven.peer.wall_ns);
  out.round_trips = driven.round_trips;
  if (driven.peer.messages != driven.messages || driven.peer.bytes != driven.messages * job.size_bytes) {
    throw tools::Failure(tools::format("the server received %llu of %llu messages",
                                       static_cast<unsigned long long>(driven.peer.messages),
                                       static_cast<unsigned long long>(driven.messages)));
  }
  if (!job.verify) return out;
  out.fault = driven.fault;
  if (driven.peer.wrong_messages > 0) {
    out.fault = tools::format(
        "the server received %llu damaged messages; the first is message %llu, from byte %llu on",
        static_cast<unsigned long long>(driven.peer.wrong_messages),
        static_cast<unsigned long long>(driven.peer.first_wrong_message),
        static_cast<unsigned long long>(driven.peer.first_wrong_offset));
  }
  out.verified = out.fault.empty();
  return out;
}

std::vector<Job> jobs_of(const Options& options) {
  std::vector<Job> jobs;
  if (!options.sweep) return {options.job};
  const KindTraits& kind = traits_of(options.job.kind);
  const std::uint64_t largest = kind.sweep_max_bytes;
  for (std::uint64_t size_bytes = kind.size_min_bytes; size_bytes <= largest; size_bytes *= 4) {
    jobs.push_back(options.job);
    jobs.back().size_bytes = size_bytes;
  }
  if (jobs.back().size_bytes != largest) {
    jobs.push_back(options.job);
    jobs.back().size_bytes = largest;
  }
  return jobs;
}

int run_client(const Benchmark& benchmark, const Options& options, const std::string& host,
               std::uint16_t port, bool pinned) {
  const Library library;
  Report report(benchmark, options.json, options.sweep);
  int status = 0;
  tools::catch_interrupts();
  for (const Job& job : jobs_of(options)) {
    Measurement measured = measure(benchmark, options, job, host, port);
    measured.pinned = pinned;
    report.add(measured);
    if (measured.interrupted) status = kExitInterrupted;
    if (measured.verified == false) {
      std::fprintf(stderr, "%s: verification failed: %s\n", benchmark.name, measured.fault.c_str());
      status = 1;
    }
    if (status != 0) break;
  }
  report.finish();
  return status;
}

int run_role(const Benchmark& benchmark, const Options& options) {
  switch (options.role) {
    case Role::client: return run_client(benchmark, options, options.host, options.port, false);
    case Role::server: {
      return run_server(benchmark, {options.bind_address, options.port, options.provider, options.json, -1});
    }
    case Role::self: {
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

Measurement measure(const Benchmark& benchmark, const Options& options, const Job& wanted,
                    const std::string& host, std::uint16_t port) {
  Job job = wanted;
  if (benchmark.id == BenchmarkId::ping)
    job.warmup_messages = warmup_messages_for(job.size_bytes, options.limit.count);
  Queue queue(static_cast<int>(2 * (job.depth + kSpareOperations) + kEventBatch), job.wait);
  const ConnectionOptions connection_options = client_options(options.provider, job);
  Channel channel(connect_to(host, port, connection_options, queue), queue);
  check_small_max(channel.socket(), job);
  ask(channel, job, connection_options);
  channel.allow_operations(job.depth + kSpareOperations);
  const std::string provider = provider_of(channel.socket());
  Progress progress(options.limit);
  const Driven driven = method_of(benchmark, job.kind).drive(channel, job, options.limit, progress);
  Measurement out = merge(job, driven);
  out.provider = provider;
  return out;
}

int run(const Benchmark& benchmark, int argc, const char* const* argv) {
  return tools::run_main(benchmark.name,
                         [&] { return run_role(benchmark, parse_options(benchmark, argc, argv)); });
}

}  // namespace perf
