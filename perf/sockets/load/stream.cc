// The load stream: messages one way, and an answer after the last one.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>
#include <vector>

#include "perf/sockets/load/clock.h"
#include "perf/sockets/load/ends.h"
#include "perf/sockets/load/loads.h"

namespace sockets_load {

void stream(const Job& job) {
  constexpr int kBatch = 16;
  const Socket peer = connect_to(job.where);
  if (!job.combines) peer.send_at_once();
  const std::vector<char> message(job.size_bytes);
  unsigned long sent = 0;
  const double began = now_s();
  while (now_s() < began + job.seconds) {
    for (int number = 0; number < kBatch; ++number) peer.send_all(message.data(), message.size());
    sent += kBatch * message.size();
  }
  peer.end_sending();
  unsigned long read = 0;
  check(peer.receive_all(reinterpret_cast<char*>(&read), sizeof read), "the server has ended");
  const double spent = now_s() - began;
  check(read == sent, "the server has not read what was sent");
  std::printf("{\"bits_per_second\": %.0f, \"bytes\": %lu}\n", 8 * static_cast<double>(sent) / spent, sent);
}

}  // namespace sockets_load
