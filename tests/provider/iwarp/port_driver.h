// A port of iWARP that the test drives, by a clock that the test alone moves.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/provider/connector.h"
#include "src/provider/iwarp/settings.h"
#include "tests/provider/iwarp/sockets.h"
#include "tests/support/driven_port.h"

namespace exs::iwarp::test {

inline constexpr std::uint64_t kStartNs = 1'000'000'000;

using exs::test::await;
using exs::test::drive_until;
using exs::test::DrivenPorts;

class PortDriver : public exs::test::DrivenPort {
 public:
  explicit PortDriver(const Settings& settings, bool as_engine = false)
      : DrivenPort(make_iwarp_provider(settings)) {
    clock = [this] { return now_ns; };
    if (as_engine) become_engine();
  }

  std::uint64_t now_ns = kStartNs;
};

}  // namespace exs::iwarp::test
