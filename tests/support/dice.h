// Numbers that decide what a hostile peer does: drawn at random, or taken from the input of a fuzzer (tests/fuzz/fuzz.h).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace exs::test {

class Dice {
 public:
  Dice() = default;
  Dice(const Dice&) = delete;
  Dice& operator=(const Dice&) = delete;
  virtual ~Dice() = default;

  // Any number.
  virtual std::uint64_t operator()() = 0;
  // From 0 to `end` - 1.
  virtual std::uint64_t below(std::uint64_t end) { return (*this)() % end; }

  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <typename T, std::size_t kCount>
  T pick(const std::array<T, kCount>& of) {
    return of[below(kCount)];
  }
  // Near an edge more often than not.
  std::uint64_t near(std::uint64_t value) {
    switch (below(8)) {
      case 0: return value + 1;
      case 1: return value - 1;
      case 2: return (*this)();
      case 3: return value == UINT64_MAX ? (*this)() : below(value + 1);
      case 4: return UINT64_MAX - below(4);
      default: return value;
    }
  }
};

class SeededDice final : public Dice {
 public:
  explicit SeededDice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t operator()() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace exs::test
