// Reads: the server posts memory once, and a round is one read of all of it. The server's program takes no part.
// SPDX-License-Identifier: BSD-2-Clause
#include "perf/ping/methods.h"
#include "perf/ping/rounds.h"
#include "perf/support/control.h"
#include "perf/support/publisher.h"
#include "tools/common/failure.h"

namespace ping {
namespace {

class Reader {
 public:
  Reader(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit, perf::Progress& progress)
      : channel_(channel),
        job_(job),
        limit_(limit),
        rounds_(job, limit, progress),
        slots_(channel.make_slots(job.size_bytes, 1, job.memory)) {}

  perf::Driven run() {
    perf::Driven driven = rounds_.run([this](std::uint64_t n) { return read(n); });
    if (!driven.broken.empty()) return driven;
    exs_shutdown(channel_.socket().number(), SHUT_WR);
    driven.peer = perf::decode_results(channel_.receive_control("no results from the server"));
    return driven;
  }

 private:
  RoundTrip read(std::uint64_t n) {
    const auto buffer = slots_.slot(0);
    if (job_.verify) perf::scrub(buffer);
    const std::uint64_t start_ns = exs::monotonic_ns();
    perf::recv(channel_.data().front(), buffer, channel_.queue(), slots_.region());
    next_receive(channel_, perf::kClientPatienceNs, n, event_);
    const std::uint64_t end_ns = exs::monotonic_ns();
    if (perf::received(event_).size() != job_.size_bytes)
      throw tools::Failure("a read has not the length that was agreed");
    if (job_.verify) {
      if (limit_.flip_message == n) buffer[buffer.size() / 2] ^= std::byte{1};
      const std::string fault = perf::fault_of_read(buffer, n);
      if (!fault.empty()) rounds_.report(fault);
    }
    return {start_ns, end_ns};
  }

  perf::Channel& channel_;
  const perf::Job& job_;
  const perf::Limit& limit_;
  Rounds rounds_;
  const perf::Slots& slots_;
  exs_event_t event_{};
};

}  // namespace

perf::Driven read_persistent(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                             perf::Progress& progress) {
  return Reader(channel, job, limit, progress).run();
}

}  // namespace ping
