// The progress of a long measurement: one line on a terminal, and reports of intervals.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "perf/support/job.h"
#include "tools/common/progress_line.h"

namespace perf {

// The number of messages of each connection. Each counter is written by its own thread and read by the reporting one. They publish no
// other data, so relaxed order suffices.
class Tally {
 public:
  explicit Tally(std::uint32_t connections) : counts_(new Count[connections]), connections_(connections) {}
  [[nodiscard]] std::atomic<std::uint64_t>& of(std::uint32_t connection) {
    return counts_[connection].messages;
  }
  [[nodiscard]] std::uint64_t sum() const;
  [[nodiscard]] std::uint32_t connections() const { return connections_; }

 private:
  struct alignas(64) Count {
    std::atomic<std::uint64_t> messages{0};
  };
  std::unique_ptr<Count[]> counts_;
  const std::uint32_t connections_;
};

// Thread: that of its connection.
class Progress {
 public:
  using OnInterval = std::function<void(const Interval&)>;

  // Reports nothing.
  Progress() = default;
  // The first connection reports for all.
  Progress(const Limit& limit, Tally& tally, std::uint32_t connection, OnInterval on_interval);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap. The line appears after the third second, and then once a second.
  void update(std::uint64_t start_ns, std::uint64_t at_ns, std::uint64_t messages,
              const tools::Histogram* round_trips = nullptr) {
    if (own_ != nullptr) own_->store(messages, std::memory_order_relaxed);
    if (at_ns >= next_ns_) tell(start_ns, at_ns, round_trips);
  }

 private:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  void tell(std::uint64_t start_ns, std::uint64_t at_ns, const tools::Histogram* round_trips);
  void end_interval(std::uint64_t start_ns, std::uint64_t at_ns, const tools::Histogram* round_trips);
  void print_line(std::uint64_t start_ns, std::uint64_t at_ns);

  Limit limit_;
  Tally* tally_ = nullptr;
  std::atomic<std::uint64_t>* own_ = nullptr;
  OnInterval on_interval_;
  std::optional<tools::ProgressLine> line_;  // of the first connection
  std::uint64_t next_ns_ = kNever;
  std::uint64_t next_interval_ns_ = kNever;
  // The time and messages of the reported intervals.
  std::uint64_t told_ns_ = 0;
  std::uint64_t told_messages_ = 0;
  std::optional<tools::Histogram> told_round_trips_;
};

}  // namespace perf
