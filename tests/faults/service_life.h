// A life of two nodes while something fails: a service is opened, found, sent messages of both kinds, asked, moved and closed. Whatever
// was begun ends in its one event, and a call that fails says why. Thread: one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace exs::test {

// What a round tells its parent, in shared memory.
struct LifeReport {
  bool failed = false;  // the fault has happened
  char violation[240] = "";
};

enum class Way : std::uint8_t { kHost, kDirectory };

// The directory of the rounds: a process that nothing fails in. Make it before this process has threads.
class DirectoryProcess {
 public:
  DirectoryProcess();
  ~DirectoryProcess();
  DirectoryProcess(const DirectoryProcess&) = delete;
  DirectoryProcess& operator=(const DirectoryProcess&) = delete;
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  int pid_ = -1;
  std::string address_;
};

// Where the fault may happen: from the first call to the last.
struct Faults {
  std::function<void()> begin;
  std::function<bool()> end;  // returns whether one happened
};

// Lives with the faults, and then once without, as if nothing had been. `directory` is for Way::kDirectory.
void live_twice(Way way, const std::string& directory, const Faults& faults, LifeReport& report);

// Runs rounds in processes of their own, some at a time, until in some rounds one after the other nothing has failed. `round` runs in the
// child.
void run_rounds(const char* name, const std::function<void(std::uint32_t number, LifeReport& report)>& round);

}  // namespace exs::test
