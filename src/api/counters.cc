// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/counters.h"

#include <cstddef>
#include <cstring>

namespace exs {
namespace {

exs_stats_t stats_of(const proto::Counters& counters) {
  exs_stats_t stats{};
  stats.struct_bytes = sizeof stats;
  stats.bytes_sent = counters.bytes_sent;
  stats.bytes_received = counters.bytes_received;
  stats.adverts_sent = counters.adverts_sent;
  stats.adverts_received = counters.adverts_received;
  stats.acks_sent = counters.acks_sent;
  stats.acks_received = counters.acks_received;
  stats.immediate_msgs = counters.immediates_sent;
  stats.immediate_bytes = counters.immediate_bytes;
  stats.direct_bytes = counters.direct_bytes;
  stats.copied_bytes = counters.copied_bytes;
  stats.credit_msgs = counters.credit_messages_sent;
  stats.credit_stalls = counters.credit_stalls;
  stats.rdma_reads = counters.reads_posted;
  stats.ctrl_sends = counters.control_messages_sent;
  stats.rdma_writes = counters.writes_posted;
  stats.notices_sent = counters.notices_sent;
  stats.notices_received = counters.notices_received;
  stats.combined_sends = counters.combined_sends;
  stats.sends_done = counters.sends_done;
  stats.recvs_done = counters.receives_done;
  stats.errors = counters.errors;
  stats.cancelled = counters.cancelled;
  stats.timeouts = counters.timed_out;
  return stats;
}

}  // namespace

exs_stats_t session_stats(Session& session) {
  exs_stats_t stats{};
  session.shard()->inspect([&] { stats = stats_on_shard(session); });
  return stats;
}

exs_stats_t stats_on_shard(const Session& session) {
  exs_stats_t stats = stats_of(session.counters());
  stats.sends_posted = stats.sends_done + session.open_count(proto::Direction::kSend);
  stats.recvs_posted = stats.recvs_done + session.open_count(proto::Direction::kReceive);
  stats.credit_stall_ns = session.stalled_ns();
  stats.snapshots = session.snapshots();
  stats.snapshot_retries = session.snapshot_retries();
  return stats;
}

// Every member but the first is a 64-bit counter.
void add_stats(exs_stats_t& sum, const exs_stats_t& part) {
  constexpr std::size_t kCounters = (sizeof(exs_stats_t) - sizeof(std::size_t)) / sizeof(std::uint64_t);
  static_assert(offsetof(exs_stats_t, sends_posted) == sizeof(std::size_t));
  std::uint64_t totals[kCounters];
  std::uint64_t parts[kCounters];
  std::memcpy(totals, &sum.sends_posted, sizeof totals);
  std::memcpy(parts, &part.sends_posted, sizeof parts);
  for (std::size_t i = 0; i < kCounters; ++i) totals[i] += parts[i];
  std::memcpy(&sum.sends_posted, totals, sizeof totals);
}

}  // namespace exs
