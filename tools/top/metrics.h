// The numbers of exs-top as OpenMetrics text, for Prometheus and others.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/top/processes.h"

namespace top {

// Version 1.0.0. Labels are programs, providers and reasons, of which there are few; addresses and processes, of which there are ever
// more, are left to JSON.
std::string metrics_of(const std::vector<ShownProcess>& processes);

}  // namespace top
