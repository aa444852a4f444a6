// operator new of the whole program, of which one can be made to fail. Link failing_allocations.cc into a program
// of its own.
#pragma once

#include <cstdint>

namespace exs::test {

// Allocations are counted from now on, from 0; number `fails_at`, and so many after it, fail. Those of other threads
// than the caller's count always, those of the caller while a CountedCall lives.
void count_allocations(std::uint32_t fails_at, std::uint32_t how_many = 1);
// No more fail. Returns whether one did.
bool stop_counting_allocations();

class CountedCall {
 public:
  CountedCall();
  ~CountedCall();
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;
};

}  // namespace exs::test
