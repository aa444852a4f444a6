// Whether what ledgers and clients say agrees with what exs-service(7) promises of a service that dies and starts again.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "perf/service_check/shared.h"

namespace service_check {

class Verdict {
 public:
  // The ledgers of lives, in their order, when nobody writes them any more.
  void add(const Ledger& ledger);
  // When all have ended. Throws tools::Failure: what was promised, and is not so.
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
