// Hands connections with bytes outside TCP to the next program of this process. The library in that program
// takes over the family's memory and receives the rest from there.
//
// The next program finds EXS_SOCKETS_FAMILY=DESCRIPTOR:SLOT,SLOT,... in its environment and removes it before
// main(). It learns from the kernel (fstat) which of its numbers belong to these connections, so duplicates
// need no mention.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace exs::sockets {

// Encloses the call that runs the next program. Thread: any.
class ExecHandover {
 public:
  // `is_ours`: the next program will take over. `kept` tells whether it inherits a number.
  ExecHandover(bool is_ours, bool (*kept)(int number)) noexcept;
  // Undoes the preparations. After failed() the next program does not exist.
  ~ExecHandover();
  ExecHandover(const ExecHandover&) = delete;
  ExecHandover& operator=(const ExecHandover&) = delete;

  [[nodiscard]] bool is_needed() const noexcept { return slots_ > 0; }
  [[nodiscard]] const char* word() const noexcept { return word_; }
  void failed() noexcept;

 private:
  static constexpr std::size_t kSlotsMax = 512;
  void add(std::uint32_t slot) noexcept;
  void write_word(int descriptor) noexcept;

  std::uint32_t list_[kSlotsMax];
  std::size_t slots_ = 0;
  int descriptor_ = -1;
  char word_[32 + kSlotsMax * 6];
};

// Builds an environment with one more word, in `room` of environment_words() pointers.
std::size_t environment_words(char* const* environment) noexcept;
char* const* with_word(char* const* environment, const char* word, char** room) noexcept;

// At a program's start: takes over what the previous program handed over. Nobody else has the unread bytes, so
// a program that is switched off takes them over, too.
void take_over() noexcept;

}  // namespace exs::sockets
