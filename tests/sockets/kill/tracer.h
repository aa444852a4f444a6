// Runs a process up to a place in its step, by ptrace: so many system calls' beginnings and ends, and so many instructions
// behind the last of them. Thread: the round's only one, which is the process's parent.
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
  // Seizes it; it may run on.
  explicit Tracer(pid_t process);

  // Waits for the signal that the process sends itself where its step begins.
  bool await_step();
  // At the place, or where the step ends, whichever comes first: stopped. Whether the step goes on.
  bool run_to(Place place);
  // Runs the whole step, instruction by instruction; the places behind which memory that it shares with others is another than
  // before. `family`: of that, what it shares by fork, too.
  std::vector<Place> find_changes(bool family, std::uint32_t& instructions);
  // From where it is to the step's end.
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
