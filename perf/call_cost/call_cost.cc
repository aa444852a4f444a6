// The cost of exs itself for a message: two connected sockets of one shard, one thread, and a provider that hands over in memory. A round
// trip is two messages. A message takes a send, a wait that finds it, and the receive for a later one. The events of sends go to a queue
// of their own, which is emptied many at a time.
// SPDX-License-Identifier: BSD-2-Clause
#include <x86intrin.h>
#include <algorithm>
#include <array>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "event/session/link_session.h"
#include "perf/call_cost/loopback.h"
#include "src/api/adopt.h"
#include "src/api/library.h"
#include "src/wire/paths.h"
#include "tools/common/command_line.h"
#include "tools/common/json.h"

namespace call_cost {
namespace {

using exs::proto::Direction;

constexpr std::size_t kBufferBytes = 4096;
constexpr int kDepth = 256;
constexpr int kSendsPerPickUp = 32;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "exs-call-cost: %s (errno %d)\n", what, errno);
  std::exit(1);
}

struct End {
  int socket = -1;
  exs_qhandle_t receives = EXS_QHANDLE_INVALID;
  exs_qhandle_t sends = EXS_QHANDLE_INVALID;
  std::byte* memory = nullptr;
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  int sends_open = 0;
};

// The sums of the times of each kind of call, in ticks of the processor's counter.
struct Cost {
  const char* name;
  std::uint64_t ticks = 0;
  std::uint64_t calls = 0;
};

class Pair {
 public:
  Pair() {
    require(exs_init(EXS_VERSION) == 0, "exs_init");
    providers_.add(provider_, exs::Role::kNetwork);
    shard_ = std::move(*exs::Shard::create(providers_));
    require(shard_->start_engine().ok(), "engine thread");
    for (End& end : ends_) {
      end.receives = make_queue();
      end.sends = make_queue();
      void* memory = exs_alloc(2 * kBufferBytes, &end.region);
      require(memory != nullptr, "exs_alloc");
      end.memory = static_cast<std::byte*>(memory);
    }
    connect();
  }

  void round_trips(std::uint64_t count, std::size_t bytes) {
    for (std::uint64_t i = 0; i < count; ++i) {
      message(ends_[0], ends_[1], bytes);
      message(ends_[1], ends_[0], bytes);
    }
  }
  // As round_trips(), but each call is timed.
  void timed_round_trips(std::uint64_t count, std::size_t bytes, std::array<Cost, 4>& costs) {
    for (std::uint64_t i = 0; i < 2 * count; ++i) {
      End& from = ends_[i % 2];
      End& to = ends_[1 - i % 2];
      timed(costs[0], [&] { send(from, bytes); });
      timed(costs[1], [&] { await(to.receives); });
      timed(costs[2], [&] { receive(to); });
      timed(costs[3], [&] { pick_up(from); });
    }
  }
  void empty_looks(std::uint64_t count) {
    exs_event_t event;
    for (std::uint64_t i = 0; i < count; ++i)
      require(exs_qwait(ends_[0].receives, &event, 1, 0, 0) == 0, "an event too many");
  }

 private:
  template <typename Call>
  static void timed(Cost& cost, Call&& call) {
    const std::uint64_t before = __rdtsc();
    call();
    cost.ticks += __rdtsc() - before;
    ++cost.calls;
  }

  exs_qhandle_t make_queue() {
    const int busy = EXS_WAIT_BUSY_POLL;
    const auto handle = static_cast<exs_qhandle_t>(
        exs::Library::current()->queues.insert(std::make_shared<exs::EventQueue>(kDepth, shard_)));
    require(exs_qmodify(handle, EXS_QATTR_WAIT, &busy, sizeof busy) == 0, "exs_qmodify");
    return handle;
  }

  std::shared_ptr<exs::LinkSession> make_session(End& end) {
    exs::UniqueFd descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    require(descriptor.valid(), "socket");
    end.socket = descriptor.get();
    exs::SessionOptions options;
    options.wishes = {exs::proto::SocketKind::kMessage, 64, 64, kBufferBytes / 2, 1};
    options.operations_max = kDepth;
    options.connect_limit_ns = 10'000'000'000;
    return std::make_shared<exs::LinkSession>(shard_, exs::KernelDescriptor::own(std::move(descriptor)),
                                              options);
  }

  void connect() {
    const auto client = make_session(ends_[0]);
    const auto server = make_session(ends_[1]);
    const auto queue = exs::Library::current()->queues.find(ends_[0].receives);
    require(queue->reserve(), "a slot");
    shard_->carry_out([&] { client->connect({}, 0, {queue, nullptr}); });
    shard_->carry_out([&] {
      auto request = provider_.port->request();
      const exs::proto::Wishes wishes{exs::proto::SocketKind::kMessage, 64, 64, kBufferBytes / 2, 1};
      const auto agreement =
          exs::proto::agree(wishes, request->private_data().first(exs::wire::kPathsOffset));
      require(agreement.has_value(), "agreement");
      server->accept({std::move(request), exs::Role::kNetwork, *agreement}, {},
                     [](exs::Status status) { require(status.ok(), "accept"); });
    });
    await(ends_[0].receives);
    for (const auto& session : {client, server}) {
      exs::SocketOptions options(exs::proto::SocketKind::kMessage);
      const auto socket = std::make_shared<exs::Socket>(session, AF_INET, options);
      require(exs::insert_socket(*exs::Library::current(), socket).ok(), "a slot of the table");
    }
    for (End& end : ends_) receive(end);
  }

  void message(End& from, End& to, std::size_t bytes) {
    send(from, bytes);
    await(to.receives);
    receive(to);
    pick_up(from);
  }

  static void send(End& end, std::size_t bytes) {
    require(exs_send(end.socket, end.memory, bytes, 0, end.sends, nullptr, end.region) == 0, "exs_send");
    ++end.sends_open;
  }
  static void receive(End& end) {
    require(exs_recv(end.socket, end.memory + kBufferBytes, kBufferBytes, 0, end.receives, nullptr,
                     end.region) == 0,
            "exs_recv");
  }
  static void await(exs_qhandle_t queue) {
    exs_event_t event;
    require(exs_qdequeue(queue, &event, 1, nullptr) == 1 && event.exs_evt_errno == 0, "an event");
  }
  static void pick_up(End& end) {
    if (end.sends_open < kSendsPerPickUp) return;
    std::array<exs_event_t, kSendsPerPickUp> events;
    end.sends_open -= exs_qwait(end.sends, events.data(), kSendsPerPickUp, kSendsPerPickUp, -1);
    require(end.sends_open == 0, "events of sends");
  }

  LoopbackProvider provider_;
  exs::ProviderSet providers_;
  std::shared_ptr<exs::Shard> shard_;
  std::array<End, 2> ends_;
};

double elapsed_ns(std::uint64_t start_ns) {
  return static_cast<double>(exs::monotonic_ns() - start_ns);
}

int run(std::uint64_t count, std::size_t bytes, bool json, bool messages_only) {
  Pair pair;
  pair.round_trips(count / 10, bytes);
  const std::uint64_t start_ns = exs::monotonic_ns();
  const std::uint64_t start_ticks = __rdtsc();
  pair.round_trips(count, bytes);
  const double whole_ns = elapsed_ns(start_ns);
  const double ns_per_tick = whole_ns / static_cast<double>(__rdtsc() - start_ticks);

  if (messages_only) {
    std::printf("%.1f\n", whole_ns / static_cast<double>(2 * count));
    return 0;
  }
  std::array<Cost, 4> costs{{{"send"}, {"wait"}, {"receive"}, {"send_events"}}};
  pair.timed_round_trips(count, bytes, costs);
  const std::uint64_t looks_ns = exs::monotonic_ns();
  pair.empty_looks(count);
  const double look_ns = elapsed_ns(looks_ns) / static_cast<double>(count);

  std::vector<std::pair<std::string, double>> figures{
      {"message_ns", whole_ns / static_cast<double>(2 * count)}};
  for (const Cost& cost : costs) {
    figures.emplace_back(std::string(cost.name) + "_ns",
                         static_cast<double>(cost.ticks) * ns_per_tick / static_cast<double>(cost.calls));
  }
  figures.emplace_back("empty_look_ns", look_ns);
  if (json) {
    tools::Json::Object object{{"size_bytes", bytes}};
    object.insert(object.end(), figures.begin(), figures.end());
    tools::print_json_line(object);
    return 0;
  }
  std::printf("%-16s %8.1f\n", "size_bytes", static_cast<double>(bytes));
  for (const auto& [name, figure] : figures) std::printf("%-16s %8.1f\n", name.c_str(), figure);
  return 0;
}

// Messages a second of `threads` threads, each with a pair of its own on a shard of its own.
double rate_of(std::size_t threads, std::uint64_t count, std::size_t bytes) {
  std::barrier ready(static_cast<std::ptrdiff_t>(threads) + 1);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      Pair pair;
      pair.round_trips(count / 10, bytes);
      ready.arrive_and_wait();
      pair.round_trips(count, bytes);
      ready.arrive_and_wait();
    });
  }
  ready.arrive_and_wait();
  const std::uint64_t start_ns = exs::monotonic_ns();
  ready.arrive_and_wait();
  const double seconds = elapsed_ns(start_ns) / static_cast<double>(exs::kNsPerSecond);
  for (std::thread& thread : running) thread.join();
  return static_cast<double>(2 * threads * count) / seconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Alternates between one thread and many, because the machine's speed changes.
int compare_threads(std::size_t threads, std::uint64_t count, std::size_t bytes, bool json) {
  constexpr int kRounds = 11;
  std::vector<double> alone;
  std::vector<double> together;
  std::vector<double> ratios;
  for (int i = 0; i < kRounds; ++i) {
    alone.push_back(rate_of(1, count, bytes));
    together.push_back(rate_of(threads, count, bytes));
    ratios.push_back(together.back() / alone.back());
  }
  if (json) {
    tools::print_json_line(tools::Json::Object{{"size_bytes", bytes},
                                               {"threads", threads},
                                               {"one_thread_messages_per_second", median(alone)},
                                               {"all_threads_messages_per_second", median(together)},
                                               {"times_one_thread", median(ratios)}});
    return 0;
  }
  std::printf("messages a second: one thread %.0f, %zu threads %.0f; times one thread %.2f\n", median(alone),
              threads, median(together), median(ratios));
  return 0;
}

}  // namespace
}  // namespace call_cost

int main(int argc, char** argv) {
  return tools::run_main("exs-call-cost", [&] {
    std::uint64_t count = 1'000'000;
    std::uint64_t bytes = 64;
    std::uint64_t threads = 0;
    bool json = false;
    bool messages_only = false;
    tools::CommandLine line("exs-call-cost", "what exs itself costs a message, without a network");
    line.add("--count", count, "Round trips").between(std::uint64_t{1}, UINT64_MAX);
    line.add("--size", bytes, "Bytes a message").between(std::uint64_t{0}, std::uint64_t{2048});
    line.add("--threads", threads,
             "Messages a second of so many threads, each with both ends on a shard of its own, against one")
        .between(std::uint64_t{2}, std::uint64_t{64});
    line.add_json_flag(json);
    line.add_flag("--messages-only", messages_only, "The first figure alone: for a profiler");
    line.parse(argc, argv);
    if (threads > 0) return call_cost::compare_threads(threads, count, bytes, json);
    return call_cost::run(count, bytes, json, messages_only);
  });
}
