// The client's end of a blast: operations on the data connections, `depth` of them under way at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>

#include "perf/support/method.h"

namespace blast {

class Pipeline {
 public:
  Pipeline(perf::Channel& channel, const perf::Job& job, const perf::Limit& limit, perf::Progress& progress)
      : channel_(channel), job_(job), limit_(limit), progress_(progress) {}
  virtual ~Pipeline() = default;
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  perf::Driven run();

 protected:
  // Posts operation `n`. Returns false if there is no room for it yet.
  virtual bool post(std::uint64_t n) = 0;
  // Operation `n` has completed with all its bytes.
  virtual void finish(std::uint64_t n, const exs_event_t& event);
  // Handles an event of the control connection, if other connections carry the data. The event has no error.
  virtual void handle_other(const exs_event_t& event);
  // Called when all operations have completed: tells the server, and returns its results.
  virtual perf::PeerResults end();

  [[nodiscard]] perf::Channel& channel() const { return channel_; }
  [[nodiscard]] const perf::Job& job() const { return job_; }
  [[nodiscard]] const perf::Limit& limit() const { return limit_; }
  // Keeps the first fault only.
  void report(const std::string& fault);

 private:
  [[nodiscard]] bool wants_more() const;
  void post_some();
  void collect();
  [[nodiscard]] bool carries_data(const exs_event_t& event) const;
  void check(const exs_event_t& event) const;

  perf::Channel& channel_;
  const perf::Job& job_;
  const perf::Limit& limit_;
  perf::Progress& progress_;
  perf::Driven driven_;
  std::array<exs_event_t, perf::kEventBatch> events_{};
  std::uint64_t start_ns_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t progress_ns_ = 0;  // time of the last events
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace blast
