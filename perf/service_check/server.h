// A life of the service: records its messages in a ledger, and answers requests.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/service.h>

#include <string>

#include "perf/service_check/shared.h"

namespace service_check {

struct ServerSettings {
  std::string listen;  // empty: the default
  Sabotage sabotage = Sabotage::kNone;
};

// Serves until it is killed. `board` has the number of the life.
[[noreturn]] void serve(const exs_svc_key_t* key, const ServerSettings& settings, Board& board,
                        Ledger& ledger);

}  // namespace service_check
