// The calls of a handle that its server may not have served yet. The server serves each way in order, but the two ways in any order. So a
// handle changes its way only when there are none. Thread: one at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace exs::rpc {

// The calls that left by a link, oldest first.
class Unanswered {
 public:
  // Later calls wait: each takes one of the few places of the exs connection. One more place is for the question that follows them.
  static constexpr std::size_t kMost = 32;

  [[nodiscard]] std::size_t count() const { return count_; }
  // Some calls have reported to their caller only that they left.
  [[nodiscard]] bool has_batched() const { return has_batched_; }
  // The last call is only a question for an answer.
  [[nodiscard]] bool ends_with_question() const { return ends_with_question_; }

  void add(std::uint32_t id) {
    EXS_CHECK(count_ < ids_.size());
    ids_[count_++] = id;
    ends_with_question_ = false;
  }
  void add_question(std::uint32_t id) {
    add(id);
    ends_with_question_ = true;
  }
  void note_batched() { has_batched_ = true; }
  void clear() {
    count_ = 0;
    has_batched_ = ends_with_question_ = false;
  }
  // The reply to that call has arrived, so the calls before it have been served.
  void answered(std::uint32_t id) {
    const auto end = ids_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto found = std::find(ids_.begin(), end, id);
    if (found == end) return;
    const auto first_left = found + 1;
    if (first_left == end) return clear();
    std::copy(first_left, end, ids_.begin());
    count_ = static_cast<std::size_t>(end - first_left);
  }

 private:
  std::array<std::uint32_t, kMost + 1> ids_;
  std::size_t count_ = 0;
  bool has_batched_ = false;
  bool ends_with_question_ = false;
};

}  // namespace exs::rpc
