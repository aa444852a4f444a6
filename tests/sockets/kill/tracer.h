// Runs a process to a place in its step, by ptrace. A place is a number of system calls' beginnings and ends,
// and of instructions after the last of these. Thread: the round's only one, in the process's parent.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace killing {

struct Place {
  std::uint32_t calls = 0;  // beginnings and ends of system calls
  std::uint32_t instructions = 0;
};

class Tracer {
 public:
  // Seizes the process, which may run on.
  explicit Tracer(pid_t process);

  // Waits for the signal that the process sends itself at the begin of its step.
  bool await_step();
  // Stops the process at the place, or at the end of the step. True: the step continues.
  bool run_to(Place place);
  // Runs the whole step, instruction by instruction. Returns the places behind which its shared memory has
  // changed. `family`: includes the memory that it shares by fork.
  std::vector<Place> find_changes(bool family, std::uint32_t& instructions);
  // Continues to the end of the step.
  bool run_to_end() { return !run_to({UINT32_MAX, 0}); }
  void release();

 private:
  enum class Stop { kCall, kInstruction, kEnd, kGone };
  Stop go_on(int request);
  [[nodiscard]] bool is_before_call() const;
  [[nodiscard]] bool is_at_end() const;

  pid_t process_;
  bool ended_ = false;
};

}  // namespace killing
