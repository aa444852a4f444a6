// What the tests of this folder are run on. EXS_PROVIDER names the provider: "iwarp", "shm", "verbs", or "fake", the
// links in memory that the protocol is tested on.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>
#include <string_view>

#include "src/provider/provider.h"
#include "tests/support/driven_port.h"
#include "tests/support/meeting.h"

namespace exs::contract {

using test::await;
using test::Connection;
using test::drive_until;
using test::DrivenPort;
using test::kHangLimitMs;
using test::Meeting;
using test::require;
using test::SocketAndLink;

std::string_view provider_under_test();
// What the provider can be set to, beside what the environment says. A test of links runs once with each.
int variants();
// Lives as long as the process, as providers do. One for each variant.
Provider& provider_of(int variant);

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace exs::contract
