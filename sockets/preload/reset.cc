#include "sockets/preload/reset.h"

#include <sys/socket.h>

#include "sockets/preload/raw.h"
#include "sockets/preload/runtime.h"

namespace exs::sockets {

void reset_connection(int number, const char* cause) noexcept {
  log_line("socket %d is reset: %s", number, cause);
  const sockaddr none{AF_UNSPEC, {}};
  raw::sys(SYS_connect, number, &none, sizeof none);
}

}  // namespace exs::sockets
