// exs-blast: throughput, with several operations under way at a time. blast/ has a file for each kind.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "perf/blast/methods.h"
#include "perf/support/benchmark.h"
#include "perf/support/publisher.h"

namespace {

using perf::Kind;

constexpr std::array kMethods{
    perf::Method{Kind::normal, blast::receive_messages, blast::send_messages},
    perf::Method{Kind::immediate, blast::receive_messages, blast::send_messages},
    perf::Method{Kind::persistent, perf::publish, blast::read_persistent},
    perf::Method{Kind::persistent_receive, blast::be_written_to, blast::write_persistent},
    perf::Method{Kind::transaction, blast::answer_transactions, blast::request_transactions},
    perf::Method{Kind::stream, blast::receive_stream, blast::send_stream},
};

}  // namespace

int main(int argc, char** argv) {
  const perf::Benchmark benchmark{
      .name = "exs-blast",
      .summary = "throughput and processor time of transfers, between two processes",
      .id = perf::BenchmarkId::blast,
      .default_port = 7471,
      .default_size_bytes = std::size_t{64} * 1024,
      .default_depth = 8,
      .depth_is_an_option = true,
      .measures_latency = false,
      .methods = kMethods};
  return perf::run(benchmark, argc, argv);
}
