// A client: sends what it is for, without an end, and writes down what became of it.
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

// Until the referee says that it is over. Its exit status: 0, or 1 with a line that says what was wrong.
int send_for_ever(const ClientSettings& settings, Board& board);

}  // namespace service_check
