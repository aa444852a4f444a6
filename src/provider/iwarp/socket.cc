// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/kernel.h"
#include "src/log/log.h"

namespace exs::iwarp {

Status make_ready_for_traffic(int descriptor) {
  const int on = 1;
  const int flags = kernel::fcntl(descriptor, F_GETFL);
  if (flags < 0 || kernel::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0 ||
      kernel::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
    const int error = errno;
    log(LogLevel::kError, "iwarp: descriptor {} is no usable TCP socket: {}", descriptor,
        std::strerror(error));
    return Status(error);
  }
  return {};
}

}  // namespace exs::iwarp
