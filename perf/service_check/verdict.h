// Compares ledgers and clients with the promises of exs-service(7) for a service that dies and restarts.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "perf/service_check/shared.h"

namespace service_check {

class Verdict {
 public:
  // Adds the ledger of a life that has ended. The order is that of the lives.
  void add(const Ledger& ledger);
  // Called when all have ended. Throws tools::Failure for a broken promise.
  void check(const Board& board, std::uint32_t lives) const;
  [[nodiscard]] std::uint64_t executed(Kind kind) const { return totals_[kind]; }

 private:
  void check_answered(Kind kind, const Account& account) const;
  void check_sent(Kind kind, const Account& account, std::uint64_t unknown, std::uint32_t lives) const;

  std::array<std::vector<std::uint8_t>, kKinds> executed_;  // how often, by number
  std::array<std::int64_t, kKinds> last_{-1, -1, -1, -1};
  std::array<std::uint64_t, kKinds> totals_{};
};

}  // namespace service_check
