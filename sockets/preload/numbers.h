// The life of a number: which connection it means from when to when. Thread: any.
#pragma once

#include <cstdint>

namespace exs::sockets {

// The program has connected or accepted.
void note_connection(int number, bool is_caller) noexcept;
void note_listener(int number) noexcept;
// The kernel gave out a number that we may know of old: whoever closed it was not seen.
void forget_number(int number) noexcept;
// `number` is a duplicate of `original`.
void note_duplicate(int number, int original) noexcept;
// Between begin and end the kernel closes the number. A connection that nobody has any more says goodbye to its peer first.
class Closing {
 public:
  explicit Closing(int number) noexcept;
  ~Closing();
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

 private:
  std::uint32_t slot_ = 0;
  int mark_ = -1;  // of a listener
};

// All that the process has, whose numbers stay open.
void forget_all() noexcept;
// The program before this one had a connection that this number means; its processes count this one already.
void adopt_connection(int number, std::uint32_t slot) noexcept;

// The process ends, or becomes another program: what it has of each connection is given up. `kept` says of a number whether
// the program after this one has it (handover.h).
void leave_all(bool (*kept)(int number)) noexcept;
// The same, of a process that ends: once.
void leave_for_good() noexcept;
// The process goes on all the same.
void return_to_all() noexcept;

// Around a fork.
void before_fork() noexcept;
void after_fork_in_parent() noexcept;
void after_fork_in_child() noexcept;
// There is no child.
void undo_fork() noexcept;

}  // namespace exs::sockets
