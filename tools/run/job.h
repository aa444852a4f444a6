// exs-run -n: starts the processes of a job, lets them find each other, and ends them together. One thread, which waits in one
// place.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/run/exchange.h"
#include "tools/run/member.h"
#include "tools/run/output.h"
#include "tools/run/signals.h"

namespace run {

struct JobSettings {
  std::string path;                    // of the program
  std::vector<std::string> arguments;  // its name first
  std::size_t size = 1;
  bool is_tagged = false;
  bool keeps_going = false;  // when a process has died
};

class Job {
 public:
  explicit Job(JobSettings settings);
  // Ends at once what still runs.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Returns the exit status of exs-run. Throws tools::Failure if not all could be started.
  int run();

 private:
  void start();
  void step();
  void watch();
  [[nodiscard]] int patience_ms() const;
  void serve(Member& member, const pollfd* events);
  void take_signals();
  void pass_on(Signals::Arrival arrival);
  void reap();
  Member* member_of(pid_t pid);

  // What a process says, and how it ends.
  void hear(Member& member);
  // False: the line means nothing.
  bool obey(Member& member, std::string_view line);
  // Once: who has left is not lost.
  void leave(Member& member, Standing standing);
  void ended(Member& member, int wait_status);
  void judge(const Member& member, int wait_status);

  void tell(const std::string& lines, const Member* besides = nullptr);
  void finish_exchange();
  // The first word on how it all ended is what counts.
  void settle(int exit_status);
  void end_others(const Member* besides);
  void signal_all(int signal, const Member* besides = nullptr);

  const JobSettings settings_;
  Signals signals_;
  Output output_;
  std::vector<Member> members_;
  Exchange exchange_;
  std::size_t running_ = 0;
  std::vector<pollfd> watched_;

  std::optional<int> exit_status_;
  bool is_ending_ = false;
  bool is_interrupted_ = false;
  std::uint64_t kill_at_ns_ = 0;  // 0: nobody has to be killed
};

}  // namespace run
