// exs-run -n: starts the processes of a job, here or on several hosts, lets them find each other, and ends them together. It has one
// thread, which waits in one place.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/progress_line.h"
#include "tools/run/exchange.h"
#include "tools/run/host.h"
#include "tools/run/output.h"
#include "tools/run/remote_host.h"
#include "tools/run/signals.h"
#include "tools/run/timeline.h"

namespace run {

struct JobSettings {
  std::string path;                    // of the program, or its name if each host looks for it
  std::vector<std::string> arguments;  // its name first
  std::size_t size = 1;
  bool is_tagged = false;
  bool keeps_going = false;      // when a process has died
  std::vector<HostName> hosts;   // empty: this one, without an agent
  std::string agent;             // the program exs-run on those hosts
  Timeline* timeline = nullptr;  // NULL: nobody wants to know
};

class Job final : public HostEvents {
 public:
  explicit Job(JobSettings settings);
  // Kills the processes that still run.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Returns the exit status of exs-run. Throws tools::Failure if some could not be started.
  int run();

 private:
  enum class Standing : std::uint8_t {
    in_job,
    left,  // in order: its exit status ends nobody else
    lost   // ended or removed from the job, and the others have been notified
  };
  struct Member {
    std::size_t rank;
    Host* host;
    Standing standing = Standing::in_job;
    bool is_running = true;
    bool is_heard = true;
  };

  void start();
  void start_on_hosts(const Program& program);
  void show_awaited_hosts();
  void step();
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] int patience_ms() const;
  void take_signals();
  void pass_on(Signals::Arrival arrival);
  void interrupt_awaited_hosts(int signal);
  void reap();

  // HostEvents
  void heard(std::size_t rank, const std::string& line) override;
  void ended(std::size_t rank, int wait_status) override;
  void lost(Host& host, const std::string& why) override;
  void cannot_start(Host& host, int exit_status, const std::string& why) override;
  void started(std::size_t rank) override { note(rank, Timeline::Event::started); }
  void wrote(std::size_t rank) override { note(rank, Timeline::Event::wrote); }

  // Returns false if the line is invalid.
  bool obey(Member& member, std::string_view line);
  [[nodiscard]] std::string words_of_failed_start(int error) const;
  // Only the first call counts: a process that has left cannot be lost.
  void leave(Member& member, Standing standing);
  void stop_counting(Member& member);
  void give_up(const Host& host);
  void note(std::size_t rank, Timeline::Event event, const std::string& words = {});
  void note_end(const Member& member, const std::string& words, bool is_good);
  void judge(const Member& member, int wait_status);

  void tell(const std::string& lines, const Member* besides = nullptr);
  void finish_exchange();
  // Sets the job's exit status; only the first call counts.
  void settle(int exit_status);
  void end_others(const Member* besides);
  void signal(const Member& member, int signal);
  void signal_all(int signal, const Member* besides = nullptr);

  const JobSettings settings_;
  Signals signals_;
  Output output_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Member> members_;
  Exchange exchange_;
  std::size_t running_ = 0;
  std::vector<pollfd> watched_;
  std::optional<tools::ProgressLine> waiting_;  // until all hosts have answered
  std::uint64_t begun_ns_ = 0;

  std::optional<int> exit_status_;
  bool is_ending_ = false;
  bool is_interrupted_ = false;
  std::uint64_t kill_at_ns_ = UINT64_MAX;  // when the running processes get SIGKILL
};

}  // namespace run
