// operator new for the whole program, which can be made to fail. Link failing_allocations.cc into a separate
// program.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::test {

// The allocations that fail, counted from 0: `how_many` of them from number `first` on. If `one_in` is not 0,
// one in so many fails instead, drawn from `seed`.
struct Shortage {
  std::uint32_t first = 0;
  std::uint32_t how_many = 0;
  std::uint32_t one_in = 0;
  std::uint32_t seed = 0;
};

// Counts allocations from now on. Those of other threads always count; those of the calling thread count
// while a CountedCall lives.
void count_allocations(const Shortage& shortage);
// Ends the failures. Returns whether one happened.
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
