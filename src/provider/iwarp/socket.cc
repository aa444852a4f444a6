#include "src/provider/iwarp/socket.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "src/base/kernel.h"
#include "src/base/log.h"
#include "src/base/socket_address.h"

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

std::string name_of_peer(int descriptor) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  const bool is_known = kernel::getpeername(descriptor, as_sockaddr(address), &length) == 0;
  const std::string name = is_known ? text_of(address) : "";
  return name.empty() ? "unknown peer" : name;
}

}  // namespace exs::iwarp
