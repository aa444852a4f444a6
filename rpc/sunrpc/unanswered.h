// The calls of a handle that its server may not have served yet. The server serves what comes by one way in order, and knows of no order
// between two ways, so a handle changes its way only when there are none. Thread: one at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace exs::rpc {

// Those that left by a link, oldest first.
class Unanswered {
 public:
  // More than these wait: they take places of the exs connection, of which there are few. One more is for the question that is to be
  // answered behind them.
  static constexpr std::size_t kMost = 32;

  [[nodiscard]] std::size_t count() const { return count_; }
  // Calls that have told their caller nothing but that they left.
  [[nodiscard]] bool has_batched() const { return has_batched_; }
  // The last one asks for an answer, and nothing else.
  [[nodiscard]] bool ends_with_question() const { return ends_with_question_; }

  void add(std::uint32_t id) {
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
  // The reply to that call has come, so those before it have been served.
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
