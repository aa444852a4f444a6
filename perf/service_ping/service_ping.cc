// service-ping: the cost of a request to a service, and the rate of long items to it. For the figures of service/README.md.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/service.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "perf/support/times.h"
#include "tools/common/child_process.h"
#include "tools/common/clock.h"
#include "tools/common/command_line.h"
#include "tools/common/failure.h"
#include "tools/common/histogram.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"

namespace service_ping {
namespace {

using tools::Json;

struct Settings {
  std::string provider = "auto";
  std::uint64_t size_bytes = 64;
  std::uint32_t requests = 100'000;
  std::uint32_t under_way = 1;
  bool replies_too = false;  // the long item comes back
  bool fetches = false;      // a short request has a long reply
  bool is_written = false;   // which the service writes
  bool is_self = false;
  bool json = false;
};

[[noreturn]] void fail(const char* what) {
  throw tools::Failure(std::string(what) + ": " + exs_svc_errtext());
}

exs_svc_node_t* open_node() {
  exs_svc_node_t* const node = exs_svc_node_open(nullptr);
  if (node == nullptr) fail("cannot open a node");
  return node;
}

// Answers until the process is ended. A long item is sent back from its receive memory.
int serve(const exs_svc_key_t* key, const Settings& settings) {
  exs_svc_node_t* const node = open_node();
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  void* const fetched = exs_alloc(settings.size_bytes + 1, &region);
  if (fetched == nullptr) throw tools::Failure("there is no memory");
  if (exs_svc_open(node, key, nullptr, nullptr) == nullptr) fail("cannot open the service");
  for (;;) {
    exs_svc_event_t event;
    const int count = exs_svc_wait(node, &event, 1, -1);
    if (count < 1) continue;
    if (event.type == EXS_SVC_EVT_SENT) exs_svc_release(static_cast<exs_svc_message_t*>(event.handle));
    if (event.type != EXS_SVC_EVT_REQUEST) continue;
    const exs_svc_message_t& asked = *event.message;
    const bool sends_back = asked.longs_count > 0 && asked.items_count > 0;
    exs_iovec_t item{fetched, settings.size_bytes, region, 0};
    if (settings.fetches) {
      exs_svc_reply(&asked, 0, nullptr, 0, &item, 1, 0, const_cast<exs_svc_message_t*>(&asked));
      continue;
    }
    if (sends_back) item = {asked.longs[0].data, asked.longs[0].length, EXS_MHANDLE_UNREGISTERED, 0};
    const int short_items = asked.longs_count > 0 ? 0 : static_cast<int>(asked.items_count);
    exs_svc_reply(&asked, 0, asked.items, short_items, &item, sends_back ? 1 : 0, 0,
                  const_cast<exs_svc_message_t*>(&asked));
    if (!sends_back) exs_svc_release(&asked);
  }
}

class Client {
 public:
  Client(const exs_svc_key_t* key, const Settings& settings) : settings_(settings), node_(open_node()) {
    exs_svc_id_t id;
    exs_svc_key_id(key, &id);
    peer_ = exs_svc_peer_open(node_, nullptr, &id, nullptr, nullptr);
    if (peer_ == nullptr) fail("cannot open a peer");
    memory_ = static_cast<char*>(exs_alloc(settings.size_bytes + 1, &region_));
    back_ = static_cast<char*>(exs_alloc((settings.size_bytes + 1) * settings.under_way, &back_region_));
    if (memory_ == nullptr || back_ == nullptr) throw tools::Failure("there is no memory");
    for (std::uint32_t i = 0; i < settings.under_way; ++i) {
      rooms_.push_back(room(i));
      free_.push_back(i);
    }
  }
  ~Client() {
    exs_svc_node_close(node_);
    exs_free(memory_);
    exs_free(back_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Measures each request, to its reply.
  void ask(std::uint32_t requests, tools::Histogram& times) {
    std::vector<std::uint64_t> begun_ns(settings_.under_way);
    std::uint32_t begun = 0;
    for (std::uint32_t ended = 0; ended < requests;) {
      for (; begun < requests && begun - ended < settings_.under_way; ++begun) {
        const std::uint32_t one = free_.back();
        free_.pop_back();
        begun_ns[one] = exs::monotonic_ns();
        begin(one, &begun_ns[one]);
      }
      exs_svc_event_t event;
      if (exs_svc_wait(node_, &event, 1, -1) != 1 || event.type != EXS_SVC_EVT_REPLY || event.error != 0)
        fail("a request has no reply");
      const auto* const began_ns = static_cast<std::uint64_t*>(event.handle);
      times.record(exs::monotonic_ns() - *began_ns);
      free_.push_back(static_cast<std::uint32_t>(began_ns - begun_ns.data()));
      exs_svc_release(event.message);
      ++ended;
    }
  }

 private:
  exs_iovec_t room(std::uint32_t one) {
    if (!settings_.is_written)
      return {back_ + one * settings_.size_bytes, settings_.size_bytes, back_region_, 0};
    const std::uint64_t most = std::uint64_t{settings_.under_way} * (settings_.size_bytes + 64);
    if (one == 0 && exs_svc_peer_trust(peer_, EXS_SVC_TRUST_WRITE, most) != 0)
      fail("cannot trust the service");
    void* const memory = exs_svc_return_alloc(peer_, settings_.size_bytes);
    if (memory == nullptr) fail("cannot allocate memory for replies");
    return {memory, settings_.size_bytes, EXS_MHANDLE_UNREGISTERED, 0};
  }
  void begin(std::uint32_t one, std::uint64_t* handle) {
    const bool is_long = settings_.size_bytes > EXS_SVC_SHORT_MAX && !settings_.fetches;
    const exs_svc_item_t item{memory_, is_long ? 0 : settings_.size_bytes};
    const exs_iovec_t piece{memory_, settings_.size_bytes, region_, 0};
    exs_svc_request_options_t options{};
    options.struct_bytes = sizeof options;
    options.returns = &rooms_[one];
    options.returns_count = settings_.fetches || (is_long && settings_.replies_too) ? 1 : 0;
    const int items = settings_.fetches ? 0 : !is_long || settings_.replies_too ? 1 : 0;
    if (exs_svc_request(peer_, &item, items, &piece, is_long ? 1 : 0, &options, handle) != 0)
      fail("cannot ask");
  }

  const Settings settings_;
  exs_svc_node_t* node_;
  exs_svc_peer_t* peer_ = nullptr;
  char* memory_ = nullptr;
  char* back_ = nullptr;
  std::vector<exs_iovec_t> rooms_;   // for replies
  std::vector<std::uint32_t> free_;  // rooms that no request has
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
  exs_mhandle_t back_region_ = EXS_MHANDLE_INVALID;
};

double us_of(double ns) {
  return std::round(ns) / 1000;
}

void measure(const exs_svc_key_t* key, const Settings& settings) {
  Client client(key, settings);
  tools::Histogram warm_up;
  client.ask(settings.requests / 10 + 1, warm_up);
  tools::Histogram times;
  tools::Stopwatch watch;
  watch.start();
  client.ask(settings.requests, times);
  watch.stop();
  const double seconds = static_cast<double>(watch.wall_ns()) / 1e9;
  const double gigabytes = static_cast<double>(settings.size_bytes) * settings.requests / 1e9;
  const perf::Times round_trip = perf::times_of(times, us_of);
  if (!settings.json) {
    std::printf("%llu bytes, %u under way: p50 %.2f us, p99 %.2f us, %.0f requests/s, %.2f GB/s\n",
                static_cast<unsigned long long>(settings.size_bytes), settings.under_way, round_trip.p50,
                round_trip.p99, settings.requests / seconds, gigabytes / seconds);
    return;
  }
  Json::Object out = tools::begin_results("service-ping");
  out.emplace_back("size_bytes", settings.size_bytes);
  out.emplace_back("under_way", settings.under_way);
  out.emplace_back("round_trip_us", json_of(round_trip));
  out.emplace_back("requests_per_second", std::round(settings.requests / seconds));
  out.emplace_back("gigabytes_per_second", gigabytes / seconds);
  tools::print_json(out);
}

int run(int argc, char** argv) {
  Settings settings;
  tools::CommandLine line("service-ping", "time of requests to a service, and rate of long items");
  line.add_flag("--self", settings.is_self, "Both ends here, in two processes; there is no other way");
  line.add("--provider", settings.provider, "Of exs")
      .one_of({"auto", "iwarp", "shm", "verbs"})
      .shows_default();
  line.add("--size", settings.size_bytes, "Bytes of a request; more than 4000 go as a long item")
      .between(std::uint64_t{0}, std::uint64_t{1} << 30U)
      .shows_default();
  line.add("--requests", settings.requests, "To be measured")
      .between(std::uint64_t{1}, std::uint64_t{100'000'000})
      .shows_default();
  line.add("--under-way", settings.under_way, "Requests at a time")
      .between(std::uint64_t{1}, std::uint64_t{64})
      .shows_default();
  line.add_flag("--back", settings.replies_too, "A long item comes back");
  line.add_flag("--fetch", settings.fetches, "An empty request, whose reply is one long item of that size");
  line.add_flag("--return", settings.is_written,
                "As --fetch, and the service writes it into memory of the request");
  line.add_json_flag(settings.json);
  line.parse(argc, argv);
  if (!settings.is_self) throw tools::UsageError("--self is to be given");
  if (settings.is_written) settings.fetches = true;
  if (settings.provider != "auto") setenv("EXS_PROVIDER", settings.provider.c_str(), 1);
  const std::unique_ptr<exs_svc_key_t, decltype(&exs_svc_key_free)> key(exs_svc_key_create(),
                                                                        exs_svc_key_free);
  const tools::ChildProcess server([&] {
    tools::pin_to_core(1);
    return serve(key.get(), settings);
  });
  tools::pin_to_core(0);
  measure(key.get(), settings);
  return 0;
}

}  // namespace
}  // namespace service_ping

int main(int argc, char** argv) {
  return tools::run_main("service-ping", [&] { return service_ping::run(argc, argv); });
}
