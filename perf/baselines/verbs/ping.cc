// SEND and RECV there and back. A round trip costs each end one send without a completion, one receive, and one event to sleep on.
// SPDX-License-Identifier: BSD-2-Clause
#include "perf/baselines/verbs/connection.h"
#include "perf/baselines/verbs/methods.h"
#include "perf/baselines/verbs/process_pair.h"
#include "tools/common/clock.h"

namespace verbs_baseline {
namespace {

constexpr std::uint32_t kSends = 128;
constexpr std::uint64_t kSignalEvery = 32;  // its completion frees the earlier ones too
constexpr std::uint64_t kReceives = 8;
constexpr std::uint32_t kInlineMaxBytes = 256;
constexpr std::uint64_t kWarmupMessages = 100;

// The memory holds the message to send, then a place for each receive.
class Player {
 public:
  Player(Connection& connection, std::uint64_t size_bytes)
      : connection_(connection), size_bytes_(size_bytes) {}

  void post_receives() {
    for (std::uint64_t i = 0; i < kReceives; ++i) post_receive(i);
  }

  void give() {
    const bool signaled = ++given_ % kSignalEvery == 0;
    connection_.post_send(0, length(), signaled);
    // The send before has completed long ago.
    if (signaled && given_ > kSignalEvery) connection_.sent().wait({&completion_, 1});
  }

  // Waits for a message, and posts its place again.
  void take() {
    connection_.received().wait({&completion_, 1});
    if (completion_.byte_len != size_bytes_) throw tools::Failure("a message of another length came");
    post_receive(taken_++ % kReceives);
  }

 private:
  [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(size_bytes_); }
  void post_receive(std::uint64_t place) { connection_.post_receive((1 + place) * size_bytes_, length()); }

  Connection& connection_;
  const std::uint64_t size_bytes_;
  std::uint64_t given_ = 0;
  std::uint64_t taken_ = 0;
  ibv_wc completion_{};
};

Needs needs_of(const Settings& settings) {
  const std::uint64_t size_bytes = settings.size_bytes;
  return {.memory_bytes = size_bytes * (1 + kReceives),
          .sends = kSends,
          .receives = kReceives,
          .inline_bytes = size_bytes <= kInlineMaxBytes ? static_cast<std::uint32_t>(size_bytes) : 0,
          .busy = settings.busy};
}

void answer(const Settings& settings, const Line& line) {
  Listener listener(settings.address);
  line.tell(listener.port());
  const auto connection = listener.accept(
      needs_of(settings), [&](Connection& peer) { Player(peer, settings.size_bytes).post_receives(); });
  Player player(*connection, settings.size_bytes);
  line.tell(true);
  for (;;) {  // until the parent ends this process
    player.take();
    player.give();
  }
}

}  // namespace

Result ping(const Settings& settings) {
  ProcessPair processes(settings, [&](const Line& line) { answer(settings, line); });
  const auto port = processes.line().hear<std::uint16_t>();
  const auto connection = connect(settings.address, port, needs_of(settings));
  Player player(*connection, settings.size_bytes);
  player.post_receives();
  processes.line().hear<bool>();
  Result out;
  out.device = connection->device();
  out.pinned = processes.pinned();
  out.is_inline = connection->is_inline();
  out.round_trips.emplace();
  std::uint64_t end_ns = UINT64_MAX;
  std::uint64_t start_ns = 0;
  std::uint64_t now_ns = exs::monotonic_ns();
  for (std::uint64_t n = 0; now_ns < end_ns; ++n) {
    if (n == kWarmupMessages) {
      start_ns = now_ns;
      end_ns = now_ns + settings.time_ns;
    }
    const std::uint64_t before_ns = exs::monotonic_ns();
    player.give();
    player.take();
    now_ns = exs::monotonic_ns();
    if (n >= kWarmupMessages) out.round_trips->record(now_ns - before_ns);
  }
  out.operations = out.round_trips->count();
  out.wall_ns = now_ns - start_ns;
  processes.end();
  return out;
}

}  // namespace verbs_baseline
