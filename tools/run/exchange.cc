// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/exchange.h"

namespace run {

bool Exchange::put(std::size_t rank, const std::string& card) {
  if (cards_[rank]) return false;
  cards_[rank] = card;
  return true;
}

std::optional<std::string> Exchange::take_complete() {
  if (!is_complete()) return std::nullopt;
  std::string lines;
  for (std::size_t rank = 0; rank < cards_.size(); ++rank) {
    lines += "card " + std::to_string(rank) + " " + cards_[rank].value_or("") + "\n";
    cards_[rank].reset();
  }
  return lines;
}

bool Exchange::is_complete() const {
  bool has_any = false;
  for (std::size_t rank = 0; rank < cards_.size(); ++rank) {
    if (!cards_[rank] && is_awaited_[rank]) return false;
    has_any |= cards_[rank].has_value();
  }
  return has_any;
}

}  // namespace run
