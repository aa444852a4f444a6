// The load requests: a connection for each request.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>
#include <vector>

#include "perf/sockets/load/clock.h"
#include "perf/sockets/load/ends.h"
#include "perf/sockets/load/loads.h"

namespace sockets_load {

void requests(const Job& job) {
  constexpr int kMost = 20'000;  // fewer than there are ports
  std::vector<char> message(job.size_bytes);
  const double began = now_s();
  double spent = 0;
  int count = 0;
  for (; spent < job.seconds && count < kMost; spent = now_s() - began, ++count) {
    const Socket peer = connect_to(job.where);
    if (!job.combines) peer.send_at_once();
    peer.send_all(message.data(), message.size());
    check(peer.receive_all(message.data(), message.size()), "the server has ended");
  }
  std::printf("{\"messages_per_second\": %.1f, \"requests\": %d}\n", count / spent, count);
}

}  // namespace sockets_load
