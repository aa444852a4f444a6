// Reads: the server posts memory once, and the client keeps `depth` reads of the whole memory under way.
// SPDX-License-Identifier: BSD-2-Clause
#include "perf/blast/methods.h"
#include "perf/blast/pipeline.h"
#include "perf/support/publisher.h"

namespace blast {
namespace {

class Reader final : public Pipeline {
 public:
  Reader(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit, perf::Progress& progress)
      : Pipeline(channel, job, limit, progress),
        slots_(channel.make_slots(job.size_bytes, job.depth, job.memory)) {}

 private:
  bool post(std::uint64_t n) override {
    if (job().verify) perf::scrub(slots_.slot(n));
    return try_recv(channel().data().front(), slots_.slot(n), channel().queue(), slots_.region());
  }

  void finish(std::uint64_t n, const exs_event_t& /*event*/) override {
    if (!job().verify) return;
    const auto read = slots_.slot(n);
    if (limit().flip_message == n) read[read.size() / 2] ^= std::byte{1};
    const std::string fault = perf::fault_of_read(read, n);
    if (!fault.empty()) report(fault);
  }

  const perf::Slots& slots_;
};

}  // namespace

perf::Driven read_persistent(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit,
                             perf::Progress& progress) {
  return Reader(channel, job, limit, progress).run();
}

}  // namespace blast
