// Each process of a job publishes a card, and gets all cards when the last one has arrived. A process that has ended or left has an empty
// card. Then another round may begin.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace run {

class Exchange {
 public:
  explicit Exchange(std::size_t size) : cards_(size), is_awaited_(size, true) {}

  // Returns false if the rank already has a card.
  bool put(std::size_t rank, const std::string& card);
  // Expects no card of this rank any more.
  void leave_out(std::size_t rank) { is_awaited_[rank] = false; }
  // Returns the lines for all processes, once.
  std::optional<std::string> take_complete();

 private:
  [[nodiscard]] bool is_complete() const;

  std::vector<std::optional<std::string>> cards_;
  std::vector<bool> is_awaited_;
};

}  // namespace run
