// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "tests/sockets/twin/call.h"

namespace twin {
namespace {

constexpr int kConnectMs = 3000;
constexpr int kBacklog = 16;

sockaddr_in loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

int port_of(int fd) {
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 ? ntohs(address.sin_port) : -1;
}

Answer make_listener() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(0);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return answer_of(-1);
  if (listen(fd, kBacklog) != 0) return answer_of(-1);
  Answer answer = answer_of(fd);
  answer.port = port_of(fd);
  return answer;
}

void set_nodelay(int fd, int value) {
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value);
}

// `flags` as for socket(); `value` is the port, `name` is TCP_NODELAY.
Answer connect_to(const Command& command) {
  const int fd = socket(AF_INET, SOCK_STREAM | command.flags, 0);
  if (fd < 0) return answer_of(-1);
  const sockaddr_in address = loopback(command.value);
  int error = 0;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) error = errno;
  int late = 0;
  if (error == EINPROGRESS) {
    pollfd wanted = {fd, POLLOUT, 0};
    poll(&wanted, 1, kConnectMs);
    socklen_t length = sizeof late;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &late, &length);
  }
  if (command.name != 0) set_nodelay(fd, 1);
  Answer answer = answer_of(fd);
  answer.port = port_of(fd);
  // On loopback, connect may return before or after the end of the handshake.
  answer.values[0] = error == EINPROGRESS ? 0 : error;
  answer.values[1] = late;
  return answer;
}

Answer accept_from(const Command& command) {
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  const int fd = command.variant == 0 ? accept(command.fd, where, &length)
                                      : accept4(command.fd, where, &length, command.flags);
  Answer answer = answer_of(fd);
  if (fd < 0) return answer;
  if (command.name != 0) set_nodelay(fd, 1);
  answer.address_length = static_cast<std::int32_t>(length);
  answer.values[0] = address.sin_family;
  answer.port = ntohs(address.sin_port);
  return answer;
}

Answer close_it(const Command& command) {
  if (static_cast<CloseCall>(command.variant) == CloseCall::close) return answer_of(close(command.fd));
  const auto number = static_cast<unsigned>(command.fd);
  return answer_of(close_range(number, number, 0));
}

Answer duplicate(const Command& command) {
  switch (static_cast<DupCall>(command.variant)) {
    case DupCall::dup2: return answer_of(dup2(command.fd, command.fd2));
    case DupCall::dup3: return answer_of(dup3(command.fd, command.fd2, command.flags));
    case DupCall::dupfd: return answer_of(fcntl(command.fd, F_DUPFD, command.fd2));
    case DupCall::dupfd_cloexec: return answer_of(fcntl(command.fd, F_DUPFD_CLOEXEC, command.fd2));
    default: return answer_of(dup(command.fd));
  }
}

Answer set_nonblocking(const Command& command) {
  int on = command.value;
  if (static_cast<NonblockCall>(command.variant) == NonblockCall::ioctl)
    return answer_of(ioctl(command.fd, FIONBIO, &on));
  const int flags = fcntl(command.fd, F_GETFL);
  if (flags < 0) return answer_of(-1);
  return answer_of(fcntl(command.fd, F_SETFL, on != 0 ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

// The unacknowledged bytes depend on the time of acknowledgements.
Answer inquire(const Command& command) {
  int number = -1;
  Answer answer = answer_of(ioctl(command.fd, static_cast<unsigned long>(command.name), &number));
  answer.values[0] = command.name == SIOCOUTQ ? (number >= 0 ? 0 : -1) : number;
  return answer;
}

bool is_time(int level, int name) {
  return level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO);
}

Answer set_option(const Command& command) {
  if (is_time(command.level, command.name)) {
    const timeval time = {command.value / 1000, command.value % 1000 * 1000};
    return answer_of(setsockopt(command.fd, command.level, command.name, &time, sizeof time));
  }
  if (command.level == SOL_SOCKET && command.name == SO_LINGER) {
    const linger how = {command.value >= 0 ? 1 : 0, command.value >= 0 ? command.value : 0};
    return answer_of(setsockopt(command.fd, command.level, command.name, &how, sizeof how));
  }
  const int value = command.value;
  return answer_of(setsockopt(command.fd, command.level, command.name, &value, sizeof value));
}

Answer get_option(const Command& command) {
  std::array<std::int32_t, 4> value = {};
  socklen_t length = is_time(command.level, command.name) ? sizeof(timeval) : sizeof(int);
  if (command.name == SO_LINGER && command.level == SOL_SOCKET) length = sizeof(linger);
  Answer answer = answer_of(getsockopt(command.fd, command.level, command.name, value.data(), &length));
  for (std::size_t i = 0; i < value.size(); ++i) answer.values[i] = value[i];
  answer.values[4] = static_cast<std::int32_t>(length);
  return answer;
}

Answer tell_names(const Command& command) {
  sockaddr_in own = {};
  sockaddr_in peer = {};
  socklen_t own_length = sizeof own;
  socklen_t peer_length = sizeof peer;
  Answer answer = answer_of(getsockname(command.fd, reinterpret_cast<sockaddr*>(&own), &own_length));
  errno = 0;
  answer.values[0] = getpeername(command.fd, reinterpret_cast<sockaddr*>(&peer), &peer_length);
  answer.values[1] = errno;
  answer.values[2] = static_cast<std::int32_t>(own_length + (peer_length << 8U));
  answer.values[3] = own.sin_family + (peer.sin_family << 8);
  answer.values[4] = static_cast<std::int32_t>(own.sin_addr.s_addr);
  answer.values[5] = static_cast<std::int32_t>(peer.sin_addr.s_addr);
  answer.port = ntohs(own.sin_port);
  answer.peer_port = ntohs(peer.sin_port);
  return answer;
}

}  // namespace

Answer perform_state(const Command& command) {
  switch (command.op) {
    case Op::listen: return make_listener();
    case Op::connect: return connect_to(command);
    case Op::accept: return accept_from(command);
    case Op::close: return close_it(command);
    case Op::shutdown: return answer_of(shutdown(command.fd, command.name));
    case Op::dup: return duplicate(command);
    case Op::nonblock: return set_nonblocking(command);
    case Op::flags: return answer_of(fcntl(command.fd, command.name));
    case Op::inquire: return inquire(command);
    case Op::set_option: return set_option(command);
    case Op::get_option: return get_option(command);
    case Op::names: return tell_names(command);
    case Op::own: return answer_of(fcntl(command.fd, F_SETOWN, getpid()));
    default: return {};
  }
}

}  // namespace twin
