// The processes of a job that are children of this process.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>

#include "tools/run/host.h"
#include "tools/run/member.h"
#include "tools/run/signals.h"

namespace run {

class LocalHost final : public Host {
 public:
  // `has_input`: rank 0 inherits this process's standard input.
  LocalHost(HostEvents& events, OutputSink& output, const Signals& signals, bool has_input)
      : events_(events), output_(output), signals_(signals), has_input_(has_input) {}
  // Kills the processes that still run.
  ~LocalHost() override;

  // Throws tools::Failure if some could not be started.
  void start(const Program& program, const Ranks& ranks) override;
  void send(const Ranks& ranks, const Channel::Lines& lines) override;
  void signal(std::size_t rank, int signal) override;
  void close(std::size_t rank) override;
  void finish() override;
  [[nodiscard]] bool is_over() const override { return running_ == 0; }
  [[nodiscard]] bool shares_terminal() const override { return true; }
  void watch(std::vector<pollfd>& watched) override;
  void serve(const pollfd*& events) override;
  bool child_ended(pid_t pid, int wait_status) override;

 private:
  // Returns NULL if the host does not have this rank.
  Member* member_of(std::size_t rank);
  void hear(Member& member);

  HostEvents& events_;
  OutputSink& output_;
  const Signals& signals_;
  const bool has_input_;
  std::vector<Member> members_;  // by rank, in order
  std::size_t running_ = 0;
};

}  // namespace run
