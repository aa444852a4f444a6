// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/socket.h"

#include "base/clock.h"
#include "src/provider/registry.h"

namespace exs {

SessionOptions SocketOptions::session(int default_timeout_ms) const {
  const int timeout_ms = connect_timeout_ms > 0 ? connect_timeout_ms : default_timeout_ms;
  return {.wishes = wishes,
          .choice = Choice::parse(provider, all_choices()).value_or(Choice{}),
          .connect_limit_ns = static_cast<std::uint64_t>(timeout_ms) * kNsPerMs,
          .operations_max = static_cast<std::uint32_t>(operations_max),
          .keepalive_ns = static_cast<std::uint64_t>(keepalive_ms) * kNsPerMs,
          .send_limit = send_limit,
          .receive_limit = receive_limit,
          .nodelay = nodelay != 0,
          .label = label};
}

}  // namespace exs
