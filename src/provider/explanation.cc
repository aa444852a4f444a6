// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/explanation.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "base/environment.h"
#include "base/kernel.h"
#include "src/log/log.h"

namespace exs {
namespace {

std::string headline(std::string_view connection, int error) {
  std::string line = "exs: ";
  line += connection;
  line += error == 0 ? ": connected" : ": failed: ";
  if (error != 0) line += std::strerror(error);
  return line + '\n';
}

std::string line_of(const Finding& finding) {
  char start[64];
  std::snprintf(start, sizeof start, "exs:   %-8.*s %-8s", static_cast<int>(finding.provider.size()),
                finding.provider.data(), verdict_name(finding.verdict));
  std::string line = start;
  if (finding.reason.code != ReasonCode::kNone) {
    line += ' ';
    line += reason_name(finding.reason.code);
  }
  if (finding.told_by_peer) line += " (says the peer)";
  if (finding.reason.fact[0] != '\0') {
    line += finding.reason.code != ReasonCode::kNone ? ": " : " ";
    line += finding.reason.fact;
  }
  while (line.back() == ' ') line.pop_back();
  line += '\n';
  if (const char* cure = reason_cure(finding.reason.code); *cure != '\0') {
    line += "exs:                     cure: ";
    line += cure;
    line += '\n';
  }
  return line;
}

bool is_wished() noexcept {
  enum class Wish : std::uint8_t { kUnread, kNo, kYes };
  static constinit std::atomic<Wish> wish{Wish::kUnread};
  Wish found = wish.load(std::memory_order_relaxed);
  if (found == Wish::kUnread) {
    found = switch_from_environment("EXS_EXPLAIN", false) ? Wish::kYes : Wish::kNo;
    wish.store(found, std::memory_order_relaxed);
  }
  return found == Wish::kYes;
}

std::string debug_line_of(const Finding& finding) {
  std::string line = std::string(finding.provider) + ' ' + verdict_name(finding.verdict);
  if (finding.reason.code != ReasonCode::kNone) line += std::string(": ") + reason_name(finding.reason.code);
  if (finding.told_by_peer) line += " (says the peer)";
  if (finding.reason.fact[0] != '\0') line += std::string(": ") + finding.reason.fact;
  if (const char* cure = reason_cure(finding.reason.code); *cure != '\0')
    line += std::string("; cure: ") + cure;
  return line;
}

void tell_log(const Explanation& explanation, std::string_view connection, int error) {
  log(LogLevel::kDebug, "{}: {}", connection, error == 0 ? "connected" : std::strerror(error));
  for (const Finding& finding : explanation.findings())
    log(LogLevel::kDebug, "{}: {}", connection, debug_line_of(finding));
}

}  // namespace

bool is_explaining() noexcept {
  return is_wished() || is_logged(LogLevel::kDebug);
}

const char* verdict_name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kUsed: return "used";
    case Verdict::kLimited: return "limited";
    case Verdict::kRefused: return "refused";
  }
  return "unknown";
}

void Explanation::add(const Finding& finding) {
  if (findings_.size() == kFindingsMax) return;
  findings_.reserve(findings_.size() + 1);  // there are few, and they are kept with the connection
  findings_.push_back(finding);
  if (!finding.told_by_peer) return;
  for (char& letter : findings_.back().reason.fact) {
    if (letter != '\0' && (letter < ' ' || letter > '~')) letter = '?';
  }
}

// Without memory it says nothing: the connection does not depend on it.
void tell(const Explanation& explanation, std::string_view connection, int error) noexcept try {
  if (is_logged(LogLevel::kDebug)) tell_log(explanation, connection, error);
  if (!is_wished()) return;
  std::string block = headline(connection, error);
  for (const Finding& finding : explanation.findings()) block += line_of(finding);
  // One call, so that blocks of threads do not mix; and a reader who stands still does not hold up the program.
  kernel::write_at_once(STDERR_FILENO, block.data(), block.size());
} catch (const std::bad_alloc&) {
  return;
}

}  // namespace exs
