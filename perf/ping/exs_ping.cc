// exs-ping: latency, with one operation under way at a time. ping/ has a file for each kind.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "perf/ping/methods.h"
#include "perf/support/benchmark.h"
#include "perf/support/publisher.h"

namespace {

using perf::Kind;

constexpr std::array kMethods{
    perf::Method{Kind::normal, ping::echo_messages, ping::send_there_and_back},
    perf::Method{Kind::immediate, ping::echo_messages, ping::send_there_and_back},
    perf::Method{Kind::persistent, perf::publish, ping::read_persistent},
};

}  // namespace

int main(int argc, char** argv) {
  const perf::Benchmark benchmark{
      .name = "exs-ping",
      .summary = "time of a transfer one way (half a round trip), between two processes",
      .id = perf::BenchmarkId::ping,
      .default_port = 7472,
      .default_size_bytes = 64,
      .default_depth = 1,
      .depth_is_an_option = false,
      .measures_latency = true,
      .methods = kMethods};
  return perf::run(benchmark, argc, argv);
}
