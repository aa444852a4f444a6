// A life of the service: writes what it is sent into a ledger, and answers requests.
#pragma once

#include <exs/service.h>

#include <string>

#include "perf/service_check/shared.h"

namespace service_check {

struct ServerSettings {
  std::string listen;  // empty: the default
  Sabotage sabotage = Sabotage::kNone;
};

// Until it is killed. `board` says which life it is.
[[noreturn]] void serve(const exs_svc_key_t* key, const ServerSettings& settings, Board& board,
                        Ledger& ledger);

}  // namespace service_check
