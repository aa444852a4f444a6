// Connections that a program inherits from the one before it while bytes of theirs lie outside of TCP: the library in the next
// program takes over the family's memory, and receives the rest.
//
// The next program finds EXS_SOCKETS_FAMILY=DESCRIPTOR:SLOT,SLOT,... in its environment, before it runs, and takes it out. Which
// of its numbers mean these connections it learns from the kernel (fstat), so nothing is said of duplicates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exs::sockets {

// Around the call that runs the next program. Thread: any.
class Handover {
 public:
  // `is_ours`: the next program will take over. `kept` says which numbers it inherits.
  Handover(bool is_ours, bool (*kept)(int number)) noexcept;
  // The next program does not come to be, if failed() was called.
  ~Handover();
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

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

// An environment with a word more, in `room` of environment_words() pointers.
std::size_t environment_words(char* const* environment) noexcept;
char* const* with_word(char* const* environment, const char* word, char** room) noexcept;

// At the start of a program: takes over what the one before it handed over.
void take_over() noexcept;

}  // namespace exs::sockets
