// A client: sends messages or requests of one kind without an end, and records their fate.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/service.h>

#include <string>

#include "perf/service_check/shared.h"

namespace service_check {

struct ClientSettings {
  Kind kind = kMessages;
  exs_svc_id_t service{};
  std::string names;  // a file; empty: by the name on this host
  Sabotage sabotage = Sabotage::kNone;
};

// Sends until the referee ends the check. Returns the exit status: 0, or 1 after a line that says what was wrong.
int send_for_ever(const ClientSettings& settings, Board& board);

}  // namespace service_check
