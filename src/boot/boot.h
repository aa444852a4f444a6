// Provides a process with its job: its rank, the size, and the addresses of the others. The source depends on
// what started the job: exs-run (launcher_boot.h), or a PMIx server, such as mpirun of Open MPI
// (pmix_boot.h). Boot is their common interface. Without either, a list gives the addresses, and there is no
// Boot (exm_config_t).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace exs::boot {

// The same in all processes of a job, and secret: it never appears in an argument or in the environment.
using JobKey = std::array<std::uint8_t, 16>;

struct JobPlace {
  int rank = 0;
  int size = 1;
  JobKey key{};
  int hosts = 1;  // that the processes of the job are on
};

inline constexpr std::size_t kCardBytesMax = 4096;
// A text that a Boot can carry: without a line's end, and not too long.
bool is_card(const std::string& text) noexcept;

// A Boot that is destroyed without leave() is a process that has died, to the others.
// Thread: one at a time; abort() any.
class Boot {
 public:
  virtual ~Boot() = default;
  Boot(const Boot&) = delete;
  Boot& operator=(const Boot&) = delete;

  [[nodiscard]] int rank() const noexcept { return place_.rank; }
  [[nodiscard]] int size() const noexcept { return place_.size; }
  [[nodiscard]] int hosts() const noexcept { return place_.hosts; }
  [[nodiscard]] const JobKey& key() const noexcept { return place_.key; }

  // Publishes this process's card and returns those of all, by rank. Waits until each process has published one or has
  // ended, which makes its card empty. All call it equally often. EINVAL: the text is no card. EPROTO: what started the job
  // says what means nothing. ECONNRESET: that has gone.
  virtual Result<std::vector<std::string>> exchange(const std::string& card) = 0;

  // Readable when deaths() has news. The next deaths() also has deaths during exchange(), in any case. -1:
  // there are no reports, or no more, as deaths() has found; a watch of the descriptor must stop then.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  // The ranks that have ended without leave() since the last call. Never waits.
  virtual std::vector<int> deaths() = 0;

  // This process leaves the job in order: how it ends is its own affair from now on.
  virtual void leave() noexcept = 0;
  // Has the whole job ended, with this exit status. The caller ends its own process.
  virtual void abort(int code) noexcept = 0;

 protected:
  explicit Boot(const JobPlace& place) : place_(place) {}

 private:
  const JobPlace place_;
};

// Finds what started this process; null: nothing known, so it is a job of one. A second call finds nothing.
// It removes exs-run's variables from the environment, so that a program started by this one is in no job.
// PMIx's variables stay, because MPI may need them, too. No other thread may use the environment meanwhile.
// EPROTO: the environment is damaged, or from another version. ECONNRESET: what started the job has gone.
Result<std::unique_ptr<Boot>> find_boot();

// exs-run has started this process in a job that it has not joined yet.
bool is_of_exs_run() noexcept;

}  // namespace exs::boot
