// Why a provider carries a connection or not, in the form for users: a stable code and the finding.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace exs {

// Values are those of EXS_REASON_* in exs.h and of the wire (FORMAT.md).
enum class ReasonCode : std::uint8_t {
  kNone = 0,
  kNotNeeded = 1,
  kForbidden = 2,
  kPeerLacks = 3,
  kNotBuilt = 4,
  kFailed = 5,
  kTimedOut = 6,
  kOtherHost = 16,
  kOtherNetns = 17,
  kOtherUser = 18,
  kNoUnixSocket = 19,
  kNoProof = 20,
  kNoMemfd = 21,
  kNoDescriptors = 22,
  kNoPtrace = 24,
  kOtherPidns = 25,
  kNoIoUring = 32,
  kEpollChosen = 33,
  kNoDevice = 48,
  kPortDown = 49,
  kNoRoute = 50,
  kMemlock = 51,
  kNoAccess = 52,
};

struct Reason {
  ReasonCode code = ReasonCode::kNone;
  char fact[128] = {};

  // `format` as printf.
  template <typename... Values>
  static Reason make(ReasonCode code, const char* format, Values... values) {
    Reason reason{code, {}};
    if constexpr (sizeof...(values) == 0) {
      std::snprintf(reason.fact, sizeof reason.fact, "%s", format);
    } else {
      std::snprintf(reason.fact, sizeof reason.fact, format, values...);
    }
    return reason;
  }
};

// "other-host"; "unknown" for a code that this build does not have, as a newer peer may send. Never nullptr.
[[nodiscard]] const char* reason_name(ReasonCode code) noexcept;
// The command or setting that would change it; empty if no cure is needed. Never nullptr.
[[nodiscard]] const char* reason_cure(ReasonCode code) noexcept;

}  // namespace exs
