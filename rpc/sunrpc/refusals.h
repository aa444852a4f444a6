// Servers that have recently refused a link; they are not asked again for a while. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

namespace exs::rpc {

void note_refusal(const sockaddr_storage& server, socklen_t length);
bool has_refused(const sockaddr_storage& server, socklen_t length);

}  // namespace exs::rpc
