// The words of EXS_SO_ERROR_TEXT: what was being done with which peer, the fact, and the cure.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "src/proto/hello.h"
#include "src/provider/explanation.h"
#include "src/provider/provider.h"

namespace exs {

struct FailedConnect {
  std::string peer;
  Status why;
  ConnectStage stage = ConnectStage::kReaching;
  bool rejected = false;         // by the peer, with `why`
  std::optional<bool> accepted;  // see peer_has_accepted(), where it is too late and the stage kAsked
  std::uint64_t limit_ms = 0;
  proto::SocketKind kind = proto::SocketKind::kMessage;
};
std::string text_of(const FailedConnect& failed, const Explanation& explanation);

// The text for an established connection.
std::string text_of_end(const std::string& peer, Status why);
// Likewise, of a socket of the kernel, which no longer knows its peer.
std::string text_of_plain_end(int number, Status why);

// "SOCK_SEQPACKET" and the like, of one end and of one that does not fit it.
const char* name_of(proto::SocketKind kind) noexcept;
const char* name_of_other(proto::SocketKind kind) noexcept;

}  // namespace exs
