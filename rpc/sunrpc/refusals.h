// Servers that have refused a link a while ago, and are not asked again so soon. Thread: any.
#pragma once

#include <sys/socket.h>

namespace exs::rpc {

void note_refusal(const sockaddr_storage& server, socklen_t length);
bool has_refused(const sockaddr_storage& server, socklen_t length);

}  // namespace exs::rpc
