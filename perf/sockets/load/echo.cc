// The load echo: one message there and back.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>
#include <vector>

#include "perf/sockets/load/clock.h"
#include "perf/sockets/load/ends.h"
#include "perf/sockets/load/loads.h"

namespace sockets_load {
namespace {

constexpr int kWarmUp = 500;
constexpr int kBatch = 32;  // round trips between two looks at the clock

void round_trips(const Socket& peer, std::vector<char>& message, int count) {
  for (int number = 0; number < count; ++number) {
    const char mark = static_cast<char>(message.front() + 1);
    message.front() = message.back() = mark;
    peer.send_all(message.data(), message.size());
    check(peer.receive_all(message.data(), message.size()), "the server has ended");
    check(message.front() == mark && message.back() == mark, "what came back is not what was sent");
  }
}

}  // namespace

void echo(const Job& job) {
  const Socket peer = connect_to(job.where);
  if (!job.combines) peer.send_at_once();
  std::vector<char> message(job.size_bytes);
  round_trips(peer, message, kWarmUp);
  const double began = now_s();
  double spent = 0;
  long count = 0;
  for (; spent < job.seconds; spent = now_s() - began) {
    round_trips(peer, message, kBatch);
    count += kBatch;
  }
  std::printf("{\"one_way_us\": %.4f, \"round_trips\": %ld}\n", spent / static_cast<double>(count) / 2 * 1e6,
              count);
}

}  // namespace sockets_load
