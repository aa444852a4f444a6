#include "src/provider/iwarp/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "src/base/kernel.h"
#include "src/base/log.h"

namespace exs::iwarp {

Status make_ready_for_traffic(int descriptor) {
  const int on = 1;
  const int flags = kernel::fcntl(descriptor, F_GETFL);
  if (flags < 0 || kernel::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0 ||
      kernel::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
    const int error = errno;
    log(LogLevel::kError, "iwarp: descriptor %d is no usable TCP socket: %s", descriptor,
        std::strerror(error));
    return Status(error);
  }
  return {};
}

std::string name_of_peer(int descriptor) {
  sockaddr_storage address{};
  socklen_t address_bytes = sizeof address;
  char host[INET6_ADDRSTRLEN] = "";
  if (kernel::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &address_bytes) != 0)
    return "unknown peer";
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
    return std::string(host) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
    return "[" + std::string(host) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  return "unknown peer";
}

}  // namespace exs::iwarp
