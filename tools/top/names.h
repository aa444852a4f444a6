// The words of exs-top for what a page says in numbers.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#include "base/stats_page.h"
#include "tools/common/date.h"

namespace top {

inline constexpr double kNsPerSecond = 1e9;

inline const char* name_of(exs::stats::ConnectionKind kind) noexcept {
  switch (kind) {
    case exs::stats::ConnectionKind::kMessages: return "messages";
    case exs::stats::ConnectionKind::kStream: return "stream";
    case exs::stats::ConnectionKind::kTagged: return "tagged";
    case exs::stats::ConnectionKind::kPlain: return "plain";
    default: return "unknown";
  }
}

inline const char* name_of(exs::stats::State state) noexcept {
  switch (state) {
    case exs::stats::State::kIdle: return "idle";
    case exs::stats::State::kConnecting: return "connecting";
    case exs::stats::State::kConnected: return "connected";
    case exs::stats::State::kClosing: return "closing";
    default: return "ended";
  }
}

inline std::string date_of_ns(std::uint64_t ns) {
  return tools::date_of(static_cast<std::time_t>(ns / static_cast<std::uint64_t>(kNsPerSecond)));
}

}  // namespace top
