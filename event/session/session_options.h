// The options of a socket for its connection.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "event/session/time_limit.h"
#include "src/proto/hello.h"
#include "src/provider/choice.h"

namespace exs {

struct SessionOptions {
  proto::Wishes wishes;
  Choice choice;                            // of providers
  std::uint64_t connect_limit_ns = 0;       // whole connect; accepted: until the peer's first message
  std::uint32_t operations_max = 0;         // posted operations a direction
  std::uint64_t keepalive_ns = 0;           // 0: off
  TimeLimitWish send_limit, receive_limit;  // of accepted connections
  bool nodelay = false;                     // streams: small sends are not combined
  std::string label;                        // for exs-top
};

}  // namespace exs
