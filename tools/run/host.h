// A host of a job: starts processes there, and relays their lines and output. The processes of this host are children (local_host.h).
// Those of another host are children of an exs-run there (remote_host.h).
// SPDX-License-Identifier: BSD-2-Clause
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
  // A process has sent a line to the launcher. The lines are in src/boot/launcher_boot.h.
  virtual void heard(std::size_t rank, const std::string& line) = 0;
  // `wait_status` is that of waitpid(). All lines and output of the process have been passed on before.
  virtual void ended(std::size_t rank, int wait_status) = 0;
  // The host cannot be reached any more, so its processes count as ended.
  virtual void lost(Host& host, const std::string& why) = 0;
  // The host cannot start the processes: exit status and reason.
  virtual void cannot_start(Host& host, int exit_status, const std::string& why) = 0;
  // A process of this host has been started, or has written whole lines. Those of other hosts are not reported.
  virtual void started(std::size_t /*rank*/) {}
  virtual void wrote(std::size_t /*rank*/) {}

 protected:
  ~HostEvents() = default;
};

// The program to start, and its environment.
struct Program {
  std::string name;                    // as the user gave it
  std::vector<std::string> arguments;  // its name first; in the others {rank} and {size} are replaced
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
  // Ignores this process's lines from now on.
  virtual void close(std::size_t rank) = 0;
  // Called when the whole job has ended; output that other processes still write there is ignored.
  virtual void finish() = 0;
  // No event of this host will follow.
  [[nodiscard]] virtual bool is_over() const = 0;
  // Returns the host's name while it has not answered yet.
  [[nodiscard]] virtual std::string awaited() const { return {}; }
  // The user has interrupted the job: a host that has not answered is lost.
  virtual void interrupt() {}
  // The terminal signals the host's processes itself.
  [[nodiscard]] virtual bool shares_terminal() const = 0;

  // watch() adds the descriptors of the host; serve() takes as many results as watch() added.
  virtual void watch(std::vector<pollfd>& watched) = 0;
  virtual void serve(const pollfd*& events) = 0;
  // When to call serve() even without events. UINT64_MAX: never.
  [[nodiscard]] virtual std::uint64_t due_ns() const { return UINT64_MAX; }
  // Returns false if that is no child of this host.
  virtual bool child_ended(pid_t pid, int wait_status) = 0;

 protected:
  Host() = default;
};

}  // namespace run
