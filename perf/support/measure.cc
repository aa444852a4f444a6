// One measurement: its connections, each with a thread if there are several, and their combined result.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <barrier>
#include <cerrno>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "perf/support/benchmark.h"
#include "perf/support/control.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/units.h"

namespace perf {
namespace {

void ask(Channel& channel, const Request& request, const ConnectionOptions& connection_options) {
  const Job& job = request.job;
  channel.send_control(encode_request(request));
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

// The client's end if the server sends. The driver is at the other end, so only received messages are known here.
Driven receive(const Method& method, Channel& channel, const Job& job, Progress& progress) {
  channel.make_slots(job.size_bytes, server_buffers(job), job.memory);
  Driven out;
  out.watch.start();
  out.peer = method.serve(channel, job, progress);
  out.messages = out.peer.messages;
  if (!tools::interrupted()) channel.send_control(encode_results(out.peer));
  out.watch.stop();
  return out;
}

class Connection {
 public:
  Connection(const Options& options, const Job& job, const std::string& host, std::uint16_t port)
      : job_(job),
        limit_(options.limit),
        queue_(static_cast<int>(2 * (job.depth + kSpareOperations) + kEventBatch), job.wait),
        channel_(connect_to(host, port, client_options(options.provider, job, options.credits), queue_),
                 queue_) {
    check_small_max(channel_.socket(), job);
    ask(channel_, {job, options.limit}, client_options(options.provider, job, options.credits));
    channel_.allow_operations(job.depth + kSpareOperations);
    provider_ = provider_of(channel_.socket());
  }

  [[nodiscard]] const std::string& provider() const { return provider_; }
  Driven run(const Method& method, Progress& progress) {
    return job_.reverse ? receive(method, channel_, job_, progress)
                        : method.drive(channel_, job_, limit_, progress);
  }

 private:
  const Job& job_;
  const Limit& limit_;
  std::string provider_;
  Queue queue_;
  Channel channel_;
};

void add(std::optional<tools::Histogram>& sum, const std::optional<tools::Histogram>& more) {
  if (sum && more) sum->add(*more);
}

// Processor time covers all threads of a process, so only the longest connection's counts.
Driven combine(std::vector<Driven>& all) {
  std::ranges::sort(all, std::greater{}, [](const Driven& one) { return one.watch.wall_ns(); });
  Driven out = all.front();
  for (auto one = all.begin() + 1; one != all.end(); ++one) {
    out.messages += one->messages;
    out.peer.messages += one->peer.messages;
    out.peer.bytes += one->peer.bytes;
    if (out.peer.wrong_messages == 0) {
      out.peer.first_wrong_message = one->peer.first_wrong_message;
      out.peer.first_wrong_offset = one->peer.first_wrong_offset;
    }
    out.peer.wrong_messages += one->peer.wrong_messages;
    if (out.fault.empty()) out.fault = one->fault;
    if (out.broken.empty()) out.broken = one->broken;
    add(out.round_trips, one->round_trips);
    add(out.due_round_trips, one->due_round_trips);
  }
  return out;
}

// Describes the receiving end's fault; empty: none.
std::string fault_of(const Driven& driven) {
  if (driven.peer.wrong_messages == 0) return driven.fault;
  return tools::format("the receiver got %llu damaged messages; the first is message %llu, from byte %llu on",
                       static_cast<unsigned long long>(driven.peer.wrong_messages),
                       static_cast<unsigned long long>(driven.peer.first_wrong_message),
                       static_cast<unsigned long long>(driven.peer.first_wrong_offset));
}

Measurement result_of(const Job& job, const Driven& driven) {
  Measurement out;
  out.job = job;
  out.interrupted = tools::interrupted();
  out.messages = driven.messages;
  out.broken = driven.broken;
  out.round_trips = driven.round_trips;
  out.due_round_trips = driven.due_round_trips;
  const std::uint64_t wall_ns = job.reverse ? driven.peer.wall_ns : driven.watch.wall_ns();
  out.seconds = tools::seconds_of(wall_ns);
  if (!job.reverse) out.sender_cpu_percent = tools::cpu_percent(driven.watch.cpu_ns(), wall_ns);
  if (!driven.broken.empty()) return out;
  out.receiver_cpu_percent = tools::cpu_percent(driven.peer.cpu_ns, driven.peer.wall_ns);
  if (driven.peer.messages != driven.messages || driven.peer.bytes != driven.messages * job.size_bytes) {
    throw tools::Failure(tools::format("the server received %llu of %llu messages",
                                       static_cast<unsigned long long>(driven.peer.messages),
                                       static_cast<unsigned long long>(driven.messages)));
  }
  if (!job.verify) return out;
  out.fault = fault_of(driven);
  out.verified = out.fault.empty();
  return out;
}

const Method& method_of(const Benchmark& benchmark, Kind kind) {
  return *std::ranges::find(benchmark.methods, kind, &Method::kind);
}

}  // namespace

Measurement measure(const Benchmark& benchmark, const Options& options, const Job& wanted,
                    const std::string& host, std::uint16_t port, const Progress::OnInterval& on_interval) {
  Job job = wanted;
  if (benchmark.measures_latency)
    job.warmup_messages = warmup_messages_for(job.size_bytes, options.limit.count);
  const Method& method = method_of(benchmark, job.kind);
  const std::uint32_t count = options.connections;
  Tally tally(count);
  std::vector<Driven> driven(count);
  std::vector<std::exception_ptr> failures(count);
  std::string provider;
  std::barrier all_connected(count);  // or failed
  const auto run = [&](std::uint32_t i) {
    std::optional<Connection> connection;
    try {
      connection.emplace(options, job, host, port);
    } catch (...) {
      failures[i] = std::current_exception();
    }
    all_connected.arrive_and_wait();
    if (!connection) return;
    if (i == 0) provider = connection->provider();
    try {
      Progress progress(options.limit, tally, i, on_interval);
      driven[i] = connection->run(method, progress);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 1; i < count; ++i) threads.emplace_back(run, i);
  run(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  Measurement out = result_of(job, combine(driven));
  out.provider = provider;
  out.connections = count;
  out.rate = options.limit.rate;
  return out;
}

}  // namespace perf
