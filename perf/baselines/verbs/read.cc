// RDMA READs, several pending, each into the next of as many buffers. The end that is read sleeps.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cstring>

#include "perf/baselines/verbs/connection.h"
#include "perf/baselines/verbs/methods.h"
#include "perf/baselines/verbs/process_pair.h"
#include "tools/common/clock.h"

namespace verbs_baseline {
namespace {

constexpr int kContent = 0xa5;
constexpr std::size_t kBatch = 16;  // completions taken at a time

// The location of the peer's buffers.
struct Source {
  std::uint64_t address;
  std::uint32_t key;
};

Needs needs_of_reads(const Settings& settings) {
  return {
      .memory_bytes = settings.size_bytes * settings.depth, .sends = settings.depth, .busy = settings.busy};
}

void be_read(const Settings& settings, const Line& line) {
  Listener listener(settings.address);
  line.tell(listener.port());
  const auto connection = listener.accept(needs_of_reads(settings), [](Connection& peer) {
    std::memset(peer.memory().data(), kContent, peer.memory().size());
  });
  line.tell(Source{reinterpret_cast<std::uintptr_t>(connection->memory().data()), connection->remote_key()});
  line.hear<bool>();  // or the end of the parent
}

class Reader {
 public:
  Reader(Connection& connection, Source source, const Settings& settings)
      : connection_(connection), source_(source), settings_(settings) {}

  // Keeps all buffers busy until the time is over, then waits for the last READs.
  void read_until(std::uint64_t end_ns) {
    std::uint64_t posted = done_;
    while (exs::monotonic_ns() < end_ns || done_ < posted) {
      for (; posted < done_ + settings_.depth && exs::monotonic_ns() < end_ns; ++posted) {
        connection_.post_read(posted % settings_.depth * settings_.size_bytes,
                              static_cast<std::uint32_t>(settings_.size_bytes), source_.address, source_.key);
      }
      if (done_ < posted) done_ += connection_.sent().wait(completions_);
    }
  }

  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  Connection& connection_;
  const Source source_;
  const Settings& settings_;
  std::uint64_t done_ = 0;
  std::array<ibv_wc, kBatch> completions_{};
};

void check(Connection& connection, const Settings& settings, std::uint64_t reads) {
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(settings.depth, reads); ++i) {
    const auto buffer = connection.memory().subspan(i * settings.size_bytes, settings.size_bytes);
    if (std::ranges::any_of(buffer, [](std::byte byte) { return byte != std::byte{kContent}; }))
      throw tools::Failure("wrong bytes were read");
  }
}

}  // namespace

Result read(const Settings& settings) {
  ProcessPair processes(settings, [&](const Line& line) { be_read(settings, line); });
  const auto port = processes.line().hear<std::uint16_t>();
  const auto connection = connect(settings.address, port, needs_of_reads(settings));
  Reader reader(*connection, processes.line().hear<Source>(), settings);
  Result out;
  out.device = connection->device();
  out.pinned = processes.pinned();
  reader.read_until(exs::monotonic_ns() + settings.time_ns / 10);
  const std::uint64_t warmup = reader.done();
  const std::uint64_t start_ns = exs::monotonic_ns();
  reader.read_until(start_ns + settings.time_ns);
  out.wall_ns = exs::monotonic_ns() - start_ns;
  out.operations = reader.done() - warmup;
  check(*connection, settings, reader.done());
  processes.end();
  return out;
}

}  // namespace verbs_baseline
