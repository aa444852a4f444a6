// SPDX-License-Identifier: BSD-2-Clause
#include "perf/service_check/verdict.h"

#include <algorithm>
#include <string>

namespace service_check {
namespace {

// Messages in a mailbox are accepted, and are lost with it.
constexpr std::uint64_t kMailbox = 256;
// Limit of messages of a sender that have left without a known fate.
constexpr std::uint64_t kUnknownMax = 64;

[[noreturn]] void fail(Kind kind, const std::string& what) {
  throw tools::Failure(std::string(kNames[kind]) + ": " + what);
}

}  // namespace

// Numbers must ascend within a life and, except for idempotent ones, across lives. So nothing is there twice.
void Verdict::add(const Ledger& ledger) {
  last_[kIdempotent] = -1;
  for (std::size_t i = 0; i < ledger.count; ++i) {
    const Ledger::Entry& entry = ledger.entries[i];
    if (entry.number <= last_[entry.kind])
      fail(entry.kind,
           std::to_string(entry.number) + " was executed after " + std::to_string(last_[entry.kind]));
    last_[entry.kind] = entry.number;
    std::vector<std::uint8_t>& counts = executed_[entry.kind];
    if (counts.size() <= entry.number) counts.resize(entry.number + std::size_t{1});
    counts[entry.number] = static_cast<std::uint8_t>(std::min(counts[entry.number] + 1, 255));
    ++totals_[entry.kind];
  }
}

void Verdict::check(const Board& board, std::uint32_t lives) const {
  for (std::uint32_t i = 0; i < kKinds; ++i) {
    const Kind kind{i};
    const Account& account = board.accounts[kind];
    if (executed_[kind].size() > account.sent) fail(kind, "something was executed that nobody has sent");
    std::uint64_t unknown = account.told;
    for (Number number = 0; number < account.sent; ++number)
      if (account.fates[number] == Fate::kUnknown) ++unknown;
    if (unknown > kUnknownMax * lives)
      fail(kind, std::to_string(unknown) + " are unknown, of " + std::to_string(lives) + " lives");
    if (is_answered(kind)) check_answered(kind, account);
    check_sent(kind, account, unknown, lives);
  }
}

// A request with a reply must have been executed.
void Verdict::check_answered(Kind kind, const Account& account) const {
  const std::vector<std::uint8_t>& counts = executed_[kind];
  for (Number number = 0; number < account.sent; ++number) {
    if (account.fates[number] == Fate::kUnderWay) fail(kind, std::to_string(number) + " never ended");
    if (account.fates[number] == Fate::kDone && (number >= counts.size() || counts[number] == 0))
      fail(kind, std::to_string(number) + " was answered, and nobody executed it");
  }
}

// A missing message must have been reported, or lost in a mailbox.
void Verdict::check_sent(Kind kind, const Account& account, std::uint64_t unknown,
                         std::uint32_t lives) const {
  const std::vector<std::uint8_t>& counts = executed_[kind];
  const auto there = static_cast<std::uint64_t>(
      std::count_if(counts.begin(), counts.end(), [](std::uint8_t count) { return count > 0; }));
  const std::uint64_t missing = account.sent - there;
  const std::uint64_t lost = is_answered(kind) ? 0 : kMailbox * lives;
  if (missing > unknown + lost)
    fail(kind, std::to_string(missing) + " are missing, of which " + std::to_string(unknown) + " are known");
}

}  // namespace service_check
