// Memory that the program names and that need not be there: unmapped, protected, or of a file that became shorter. The kernel says EFAULT
// of it; a copy of ours would end the program. So copies are made here, and SIGSEGV and SIGBUS, should a copy raise one, end the copy.
// The program sees its own handlers of both, and they get every signal that is not a copy's (symbols/signals.cc). A thread that blocks one of
// them would be ended by the kernel: for it the kernel copies.
#pragma once

#include <csignal>
#include <cstddef>

namespace exs::sockets {

// Begins to look after copies: with the first connection, so that a program that has none keeps its actions, and pays nothing for each
// call. From its end on a copy may end the program.
void watch_copies() noexcept;
bool watches_copies() noexcept;
void unwatch_copies() noexcept;

// False: some of it is not there; what was copied before that is not said. Thread: any.
[[nodiscard]] bool copy_reached(void* to, const void* from, std::size_t bytes) noexcept;
// One byte of each page is read. What a program unmaps meanwhile is its own fault.
[[nodiscard]] bool is_there(const void* memory, std::size_t bytes) noexcept;
// The same for a value that the kernel would write.
[[nodiscard]] bool is_writable(void* memory, std::size_t bytes) noexcept;

// Whether all strings of an environment, or of arguments, are there.
[[nodiscard]] bool are_there(char* const* strings) noexcept;
template <typename Value>
[[nodiscard]] bool is_there(const Value* value) noexcept {
  return is_there(static_cast<const void*>(value), sizeof(Value));
}

// The thread's mask of signals has changed, or may have: it is asked for again at the next copy.
void forget_mask() noexcept;
// The same, by a set that was given to sigprocmask().
void note_mask(int how, const sigset_t& set) noexcept;

// Around a call of the C library's that sets or tells the action of a signal: it finds the program's there, as without us. What it
// leaves is the program's.
class ProgramsAction {
 public:
  explicit ProgramsAction(int signal) noexcept;
  ~ProgramsAction();
  ProgramsAction(const ProgramsAction&) = delete;
  ProgramsAction& operator=(const ProgramsAction&) = delete;

 private:
  int signal_;
};

}  // namespace exs::sockets
