// A connection's findings on each provider: whether it carries the connection, what limits it, and why.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "src/provider/reason.h"

namespace exs {

// Values are those of EXS_VERDICT_* in exs.h.
enum class Verdict : std::uint8_t { kUsed = 1, kLimited = 2, kRefused = 3 };

const char* verdict_name(Verdict verdict) noexcept;  // "used" and the like

struct Finding {
  std::string_view provider;  // static
  Verdict verdict = Verdict::kUsed;
  bool told_by_peer = false;
  Reason reason;
};

// One or more findings for each provider: first used or refused, then its limits. Thread: as its owner.
class Explanation {
 public:
  static constexpr std::size_t kFindingsMax = 16;  // EXS_REASONS_MAX; further ones are dropped

  // A peer's text may reach a terminal, so only its printable characters are kept.
  void add(const Finding& finding);
  void used(std::string_view provider) { add({provider, Verdict::kUsed, false, {}}); }
  void limited(std::string_view provider, const Reason& reason, bool told_by_peer = false) {
    add({provider, Verdict::kLimited, told_by_peer, reason});
  }
  void refused(std::string_view provider, const Reason& reason, bool told_by_peer = false) {
    add({provider, Verdict::kRefused, told_by_peer, reason});
  }
  [[nodiscard]] std::span<const Finding> findings() const noexcept { return findings_; }

 private:
  std::vector<Finding> findings_;
};

// EXS_EXPLAIN=1, or yes and the like, was in the environment when this was first called, or the log takes lines of the level debug.
// Thread: any.
bool is_explaining() noexcept;
// A block of lines on standard error for EXS_EXPLAIN, and a line of the log for each finding.
// `connection` names it ("socket 7 to 127.0.0.1:4711"); `error`: the errno it failed with, 0: it is up.
// Thread: any.
void tell(const Explanation& explanation, std::string_view connection, int error) noexcept;

}  // namespace exs
