// SPDX-License-Identifier: BSD-2-Clause
#include "perf/ping/rounds.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "tools/common/failure.h"
#include "tools/common/sockets.h"
#include "tools/common/units.h"

namespace ping {
namespace {

// The kernel wakes a sleeper tens of microseconds late, so the last part of a wait polls the clock.
constexpr std::uint64_t kAwakeNs = 200'000;
// A sleep may begin just after the signal that should end it, so naps are limited.
constexpr std::uint64_t kNapMaxNs = 100'000'000;

}  // namespace

void Schedule::wait_until(std::uint64_t due_ns) {
  for (std::uint64_t at_ns = exs::monotonic_ns(); at_ns < due_ns; at_ns = exs::monotonic_ns()) {
    if (tools::interrupted()) return;
    if (due_ns - at_ns <= kAwakeNs) continue;
    const std::uint64_t nap_ns = std::min(due_ns - at_ns - kAwakeNs, kNapMaxNs);
    std::this_thread::sleep_for(std::chrono::nanoseconds(nap_ns));
  }
}

void next_receive(perf::Channel& channel, std::int64_t patience_ns, std::uint64_t messages,
                  exs_event_t& event) {
  do {
    if (channel.queue().take({&event, 1}, patience_ns) == 0) {
      throw tools::Failure("nothing came from the other end for " +
                           std::to_string(patience_ns / 1'000'000'000) + " s");
    }
    if (event.exs_evt_errno != 0) {
      tools::fail_of(event.exs_evt_socket,
                     tools::format("the connection broke after %llu messages",
                                   static_cast<unsigned long long>(messages)),
                     event.exs_evt_errno);
    }
  } while (event.exs_evt_type != EXS_EVT_RECV);
}

}  // namespace ping
