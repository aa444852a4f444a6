// Which messages may come on which kind of connection.
#pragma once

#include "src/proto/hello.h"
#include "src/wire/messages.h"

namespace exs::proto {

[[nodiscard]] bool may_come(SocketKind kind, const wire::Header& header) noexcept;

}  // namespace exs::proto
