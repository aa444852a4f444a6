// What is done while allocations fail.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>

#include "tests/faults/scarce_world.h"

namespace exs::test {

struct Scenario {
  const char* name;
  int type;  // of the sockets
  void (*run)(World&);
  bool connects_first = true;  // before allocations fail
};

std::span<const Scenario> scarce_scenarios();

}  // namespace exs::test
