// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/reasons.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <exs/exs.h>

#include "src/api/refusals.h"

namespace exs {
namespace {

static_assert(Explanation::kFindingsMax == EXS_REASONS_MAX);
static_assert(sizeof(Reason::fact) == sizeof(exs_reason_t::fact));

exs_reason_t as_told(const Finding& finding) {
  exs_reason_t told{};
  std::snprintf(told.provider, sizeof told.provider, "%.*s", static_cast<int>(finding.provider.size()),
                finding.provider.data());
  told.verdict = static_cast<std::int32_t>(finding.verdict);
  told.code = static_cast<std::int32_t>(finding.reason.code);
  told.told_by_peer = finding.told_by_peer ? 1 : 0;
  std::snprintf(told.name, sizeof told.name, "%s", reason_name(finding.reason.code));
  std::snprintf(told.fact, sizeof told.fact, "%s", finding.reason.fact);
  std::snprintf(told.cure, sizeof told.cure, "%s", reason_cure(finding.reason.code));
  return told;
}

}  // namespace

Status put_reasons(const Explanation& explanation, void* room, socklen_t* length) {
  const auto findings = explanation.findings();
  const std::size_t fitting = std::min(findings.size(), *length / sizeof(exs_reason_t));
  if (fitting == 0 && !findings.empty()) return wrong_size(*length, sizeof(exs_reason_t));
  auto* out = static_cast<std::byte*>(room);
  for (const Finding& finding : findings.first(fitting)) {
    const exs_reason_t told = as_told(finding);
    std::memcpy(out, &told, sizeof told);
    out += sizeof told;
  }
  *length = static_cast<socklen_t>(findings.size() * sizeof(exs_reason_t));
  return Status();
}

}  // namespace exs
