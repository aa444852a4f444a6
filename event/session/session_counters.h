// The counters of a session for exs_getstats.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "src/proto/operation.h"

namespace exs {

// Operations whose event has been pushed, and how many of them failed. Thread: shard.
struct FinishedOperations {
  std::uint64_t sends = 0, receives = 0, errors = 0, cancelled = 0, timed_out = 0;

  void count(proto::Direction direction, int error) {
    ++(direction == proto::Direction::kSend ? sends : receives);
    if (error != 0) ++errors;
    if (error == ECANCELED) ++cancelled;
    if (error == ETIMEDOUT) ++timed_out;
  }
};

// Snapshots of the peer's memory, and how often one had to be read again. Written by the threads that take
// them, read by exs_getstats; no other memory depends on the numbers, so their order does not matter.
class SnapshotCounters {
 public:
  void count_snapshot() { snapshots_.fetch_add(1, std::memory_order_relaxed); }
  void count_retry() { retries_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t snapshots() const { return snapshots_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t retries() const { return retries_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> snapshots_{0};
  std::atomic<std::uint64_t> retries_{0};
};

// How long sends have waited for credits. Thread: shard.
class StallTime {
 public:
  [[nodiscard]] bool is_stalled() const noexcept { return since_ns_ != 0; }
  void begin(std::uint64_t now_ns) { since_ns_ = now_ns; }
  void end(std::uint64_t now_ns) { total_ns_ += now_ns - since_ns_, since_ns_ = 0; }
  [[nodiscard]] std::uint64_t total_ns(std::uint64_t now_ns) const noexcept {
    return is_stalled() ? total_ns_ + (now_ns - since_ns_) : total_ns_;
  }

 private:
  std::uint64_t since_ns_ = 0;  // 0: no send waits for a credit
  std::uint64_t total_ns_ = 0;
};

}  // namespace exs
