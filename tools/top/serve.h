// Metrics over HTTP, for a Prometheus that fetches them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <functional>
#include <string>

namespace top {

// Answers GET /metrics with what `metrics` returns, which another thread calls, until SIGINT or SIGTERM. Prints where. Throws
// tools::Failure if the address cannot be had.
void serve_metrics(const sockaddr_storage& address, const std::function<std::string()>& metrics);

}  // namespace top
