// Copies of program memory that may not be there: unmapped, protected, or of a file that was truncated. The
// kernel returns EFAULT for such memory, but a copy in this process would end the program. So copies are made
// here, and a SIGSEGV or SIGBUS that a copy raises ends only the copy. The program sees its own handlers of
// both signals, and these get every signal that no copy raised (symbols/signals.cc). The kernel would end a
// thread that blocks these signals, so it copies for that thread. A thread's mask is read once, and again after
// calls and handlers that change it. So handlers whose own mask blocks the signals are called by ours.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <csignal>
#include <cstddef>

namespace exs::sockets {

// Installs the handlers, with the first connection. A program without connections keeps its actions and pays
// nothing for each call. After unwatch_copies() a copy may end the program.
void watch_copies() noexcept;
bool watches_copies() noexcept;
void unwatch_copies() noexcept;

// False: some of the memory is not there, and an unknown part has been copied. Thread: any.
[[nodiscard]] bool copy_reached(void* to, const void* from, std::size_t bytes) noexcept;
// Reads one byte of each page. The program may still unmap the memory afterwards.
[[nodiscard]] bool is_there(const void* memory, std::size_t bytes) noexcept;
// Tests a value that the kernel would write.
[[nodiscard]] bool is_writable(void* memory, std::size_t bytes) noexcept;

// Tests all strings of an environment or argument list.
[[nodiscard]] bool are_there(char* const* strings) noexcept;
template <typename Value>
[[nodiscard]] bool is_there(const Value* value) noexcept {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a value may be a pointer
  return is_there(static_cast<const void*>(value), sizeof(Value));
}

// The thread's signal mask may have changed; the next copy reads it again.
void forget_mask() noexcept;
// Takes the change from the arguments of sigprocmask().
void note_mask(int how, const sigset_t& set) noexcept;

// Encloses a wait with this mask, which handlers that end it have, too.
class WaitMask {
 public:
  explicit WaitMask(const sigset_t* mask) noexcept;
  ~WaitMask();
  WaitMask(const WaitMask&) = delete;
  WaitMask& operator=(const WaitMask&) = delete;

 private:
  bool blocks_;
};

// Encloses a call of the C library that sets or reads the action of a signal. The call finds and leaves the
// program's action, as without the layer.
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
