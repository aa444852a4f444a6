// The life of a number: from when to when it means which connection. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::sockets {

// The program has connected or accepted.
void note_connection(int number, bool is_caller) noexcept;
void note_listener(int number) noexcept;
// The kernel has given out a known number: its close was not seen.
void forget_number(int number) noexcept;
// `number` is a duplicate of `original`.
void note_duplicate(int number, int original) noexcept;
// Encloses the kernel's close of the number. The last number of a connection first says goodbye to the peer.
class NumberClosing {
 public:
  explicit NumberClosing(int number) noexcept;
  ~NumberClosing();
  NumberClosing(const NumberClosing&) = delete;
  NumberClosing& operator=(const NumberClosing&) = delete;

 private:
  std::uint32_t slot_ = 0;
  int mark_ = -1;  // a listener's mark
};

// Forgets all numbers of the process, which stay open.
void forget_all() noexcept;
// The process's previous program had this connection; FamilySlot::processes already counts this process.
void adopt_connection(int number, std::uint32_t slot) noexcept;

// The process ends, or becomes another program, and gives up its connections. `kept` tells whether the next
// program has a number (handover.h).
void leave_all(bool (*kept)(int number)) noexcept;
// Like leave_all(), for a process that ends. Works once.
void leave_for_good() noexcept;
// Undoes leave_all(): the process goes on.
void return_to_all() noexcept;

// Encloses a fork.
void before_fork() noexcept;
void after_fork_in_parent() noexcept;
void after_fork_in_child() noexcept;
// The fork failed.
void undo_fork() noexcept;

}  // namespace exs::sockets
