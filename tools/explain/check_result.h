// One property of this machine or process, and its effect on exs.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/provider/reason.h"
#include "tools/common/json.h"

namespace explain {

enum class Verdict : std::uint8_t {
  ok,
  limited,  // the providers in `concerns` work, but slower or not for all operations
  missing   // the providers in `concerns` do not work
};

struct CheckResult {
  explicit CheckResult(const char* its_name) : name(its_name) {}

  std::string name;  // the key in JSON, which never changes
  Verdict verdict = Verdict::ok;
  std::string text;
  std::vector<std::string> details;                 // lines below it
  std::vector<std::string> concerns;                // providers
  exs::ReasonCode reason = exs::ReasonCode::kNone;  // unless ok: the reason that a connection would report
  tools::Json::Object values;                       // for programs; keys end with their unit
};

const char* name_of(Verdict verdict);

}  // namespace explain
