// The messages that may come on each kind of connection.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/proto/hello.h"
#include "src/wire/messages.h"

namespace exs::proto {

[[nodiscard]] bool may_come(SocketKind kind, const wire::Header& header) noexcept;

// For messages that are no data messages.
[[nodiscard]] bool spends_credit(SocketKind kind, wire::MessageType type) noexcept;

}  // namespace exs::proto
