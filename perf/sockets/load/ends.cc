// SPDX-License-Identifier: BSD-2-Clause
#include "perf/sockets/load/ends.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sockets_load {
namespace {

constexpr int kBacklog = 128;

struct Name {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  sockaddr* address() { return reinterpret_cast<sockaddr*>(&storage); }
};

Name unix_name(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  check(path.size() < sizeof address.sun_path, "the path is too long for a Unix socket");
  std::memcpy(address.sun_path, path.data(), path.size());
  Name name;
  std::memcpy(&name.storage, &address, sizeof address);
  name.length = sizeof address;
  return name;
}

Name loopback_name(const std::string& port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<in_port_t>(std::atoi(port.c_str())));
  Name name;
  std::memcpy(&name.storage, &address, sizeof address);
  name.length = sizeof address;
  return name;
}

Name name_of(const std::string& where) {
  const std::size_t colon = where.find(':');
  const std::string kind = where.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : where.substr(colon + 1);
  check(kind == "tcp" || (kind == "unix" && !rest.empty()), "an address is tcp, tcp:PORT or unix:PATH");
  return kind == "unix" ? unix_name(rest) : loopback_name(rest.empty() ? "0" : rest);
}

}  // namespace

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "sockets-load: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

Socket::~Socket() {
  if (descriptor_ != -1) close(descriptor_);
}

Socket Socket::accept_one() const {
  Socket accepted(accept(descriptor_, nullptr, nullptr));
  check(accepted.number() != -1, "accept");
  return accepted;
}

void Socket::send_at_once() const {
  const int on = 1;
  setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void Socket::send_all(const char* from, std::size_t length_bytes) const {
  while (length_bytes > 0) {
    const ssize_t sent = send(descriptor_, from, length_bytes, MSG_NOSIGNAL);
    check(sent > 0, "send");
    from += sent;
    length_bytes -= static_cast<std::size_t>(sent);
  }
}

std::size_t Socket::receive_some(char* into, std::size_t length_bytes) const {
  const ssize_t received = recv(descriptor_, into, length_bytes, 0);
  check(received >= 0, "recv");
  return static_cast<std::size_t>(received);
}

bool Socket::receive_all(char* into, std::size_t length_bytes) const {
  while (length_bytes > 0) {
    const std::size_t received = receive_some(into, length_bytes);
    if (received == 0) return false;
    into += received;
    length_bytes -= received;
  }
  return true;
}

void Socket::end_sending() const {
  check(shutdown(descriptor_, SHUT_WR) == 0, "shutdown");
}

Socket listen_at(const std::string& where, std::string& told) {
  Name name = name_of(where);
  Socket listener(socket(name.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  check(listener.number() != -1, "socket");
  check(bind(listener.number(), name.address(), name.length) == 0, "bind");
  check(listen(listener.number(), kBacklog) == 0, "listen");
  told = where;
  if (name.storage.ss_family == AF_INET) {
    check(getsockname(listener.number(), name.address(), &name.length) == 0, "getsockname");
    sockaddr_in address = {};
    std::memcpy(&address, &name.storage, sizeof address);
    told = "tcp:" + std::to_string(ntohs(address.sin_port));
  }
  return listener;
}

Socket connect_to(const std::string& where) {
  Name name = name_of(where);
  Socket connected(socket(name.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  check(connected.number() != -1, "socket");
  check(connect(connected.number(), name.address(), name.length) == 0, "connect");
  return connected;
}

}  // namespace sockets_load
