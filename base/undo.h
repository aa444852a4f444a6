// Takes back what was begun, unless all of it succeeded.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <utility>

namespace exs {

template <typename Action>
class [[nodiscard]] Undo {
 public:
  explicit Undo(Action action) : action_(std::move(action)) {}
  ~Undo() {
    if (armed_) action_();
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  void cancel() noexcept { armed_ = false; }

 private:
  Action action_;
  bool armed_ = true;
};

}  // namespace exs
