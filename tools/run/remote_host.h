// The processes of a job on another host: an exs-run --agent there starts them and relays. It is started by ssh, or by the program that
// EXS_RUN_RSH names. It ends with its connection to this process.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tools/run/frames.h"
#include "tools/run/host.h"
#include "tools/run/signals.h"

namespace run {

struct HostName {
  std::string name;
  std::size_t slots = 1;
};

class RemoteHost final : public Host {
 public:
  // Starts the agent; `agent` is the program there. Throws tools::Failure.
  RemoteHost(HostEvents& events, OutputSink& output, const Signals& signals, HostName name,
             const std::string& agent);
  // Kills the processes that still run, if the connection still stands.
  ~RemoteHost() override;

  void start(const Program& program, const Ranks& ranks) override;
  void send(const Ranks& ranks, const Channel::Lines& lines) override;
  void signal(std::size_t rank, int signal) override;
  void close(std::size_t rank) override;
  void finish() override;
  [[nodiscard]] bool is_over() const override { return agent_.pid == 0; }
  [[nodiscard]] std::string awaited() const override;
  void interrupt() override;
  [[nodiscard]] bool shares_terminal() const override { return false; }
  void watch(std::vector<pollfd>& watched) override;
  void serve(const pollfd*& events) override;
  [[nodiscard]] std::uint64_t due_ns() const override;
  bool child_ended(pid_t pid, int wait_status) override;

 private:
  struct Started {
    pid_t pid;  // of ssh; 0: ended, and waited for
    FrameChannel channel;
  };
  static Started start_agent(const std::vector<std::string>& command, const Signals& signals);

  void tell_room();
  void hear();
  // Returns false if the frame is invalid.
  bool obey(const Frame& frame);
  void lose(const std::string& why);
  void read_input();

  HostEvents& events_;
  OutputSink& output_;
  const HostName name_;
  Started agent_;
  Pulse pulse_;
  bool is_held_ = false;
  bool is_unread_[3] = {};  // by stream
  bool has_rank_0_ = false;
  bool wants_input_ = false;
  bool has_started_ = false;
  bool is_finished_ = false;
  std::uint64_t kill_at_ns_ = UINT64_MAX;  // when to kill an agent that does not end by itself
};

}  // namespace run
