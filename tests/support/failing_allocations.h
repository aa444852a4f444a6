// operator new of the whole program, of which one can be made to fail. Link failing_allocations.cc into a program
// of its own.
#pragma once

#include <cstdint>

namespace exs::test {

// Which allocations fail, of those counted from 0: `how_many` from number `first` on, or, if `one_in` is not 0, one in so
// many, drawn from `seed`.
struct Shortage {
  std::uint32_t first = 0;
  std::uint32_t how_many = 0;
  std::uint32_t one_in = 0;
  std::uint32_t seed = 0;
};

// Allocations are counted from now on. Those of other threads than the caller's count always, those of the caller while
// a CountedCall lives.
void count_allocations(const Shortage& shortage);
// No more fail. Returns whether one did.
bool stop_counting_allocations();
std::uint32_t counted_allocations();

class CountedCall {
 public:
  CountedCall();
  ~CountedCall();
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;
};

}  // namespace exs::test
