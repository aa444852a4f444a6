// The reports: text for people, one JSON object for programs.
#pragma once

#include <vector>

#include "tools/explain/connection.h"
#include "tools/explain/fact.h"

namespace explain {

struct Machine {
  std::vector<Fact> facts;
  std::string providers;  // of this build, comma separated
};

// Some provider of this build has everything that it needs: connections can be made.
bool is_well(const Machine& machine);
void print(const Machine& machine, bool json);
// `target` as the user wrote it.
void print(const Connected& connected, const std::string& target, bool json);

}  // namespace explain
