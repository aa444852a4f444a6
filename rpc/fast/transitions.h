// States of one thing as an enum, and the table of what may follow each. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/check.h"

namespace exs::rpc {

// For each state, in the order of the enum, the states that may follow it: one bit each.
template <typename State, std::size_t kStates>
class TransitionTable {
 public:
  explicit constexpr TransitionTable(const std::array<std::initializer_list<State>, kStates>& after) {
    for (std::size_t i = 0; i < kStates; ++i)
      for (const State state : after[i]) bits_[i] |= bit(state);
  }
  [[nodiscard]] constexpr bool may_follow(State now, State next) const {
    return (bits_[static_cast<std::size_t>(now)] & bit(next)) != 0;
  }
  void move_state(State& state, State next) const {
    EXS_CHECK(may_follow(state, next));
    state = next;
  }

 private:
  static constexpr std::uint32_t bit(State state) { return std::uint32_t{1} << static_cast<unsigned>(state); }

  std::array<std::uint32_t, kStates> bits_{};
};

}  // namespace exs::rpc
