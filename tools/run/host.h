// A host of a job: starts processes there and passes on what is for them, and what they say and write. The processes of this host are
// children (local_host.h); those of another one are children of an exs-run there (remote_host.h).
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/run/channel.h"
#include "tools/run/output.h"

namespace run {

class Host;

using Ranks = std::vector<std::size_t>;

class HostEvents {
 public:
  // A line that a process says of the job. The lines are in src/boot/launcher_boot.h.
  virtual void heard(std::size_t rank, const std::string& line) = 0;
  // With what waitpid() tells. All that it has said and written was passed on before.
  virtual void ended(std::size_t rank, int wait_status) = 0;
  // The host cannot be reached any more, so its processes have ended to us.
  virtual void lost(Host& host, const std::string& why) = 0;
  // It cannot start them: exit status, and why.
  virtual void cannot_start(Host& host, int exit_status, const std::string& why) = 0;

 protected:
  ~HostEvents() = default;
};

// What is to be started, and how.
struct Program {
  std::string name;                    // as it was asked for
  std::vector<std::string> arguments;  // its name first; in the others {rank} and {size} stand for those
  std::size_t size = 1;                // of the job
  bool is_tagged = false;
  std::string first_line;  // for each process
};

class Host {
 public:
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  virtual void start(const Program& program, const Ranks& ranks) = 0;
  virtual void send(const Ranks& ranks, const Channel::Lines& lines) = 0;
  virtual void signal(std::size_t rank, int signal) = 0;
  // Hears no more of what it says.
  virtual void close(std::size_t rank) = 0;
  // When all of the job has ended: what still writes there is left alone.
  virtual void finish() = 0;
  // Nothing more will come of it.
  [[nodiscard]] virtual bool is_over() const = 0;
  // The terminal signals its processes itself.
  [[nodiscard]] virtual bool shares_terminal() const = 0;

  // Adds what it waits for, and is given that back: serve() takes as many as watch() added.
  virtual void watch(std::vector<pollfd>& watched) = 0;
  virtual void serve(const pollfd*& events) = 0;
  // When it wants to be served without any. UINT64_MAX: never.
  [[nodiscard]] virtual std::uint64_t due_ns() const { return UINT64_MAX; }
  // False: that is no child of this host's.
  virtual bool child_ended(pid_t pid, int wait_status) = 0;

 protected:
  Host() = default;
};

}  // namespace run
