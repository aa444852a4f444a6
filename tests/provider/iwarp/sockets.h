// Loopback TCP sockets for tests. Ports are always chosen by the kernel.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/require.h"

namespace exs::iwarp::test {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() { close(); }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

using exs::test::require;

inline Socket tcp_socket() {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  require(socket.get() >= 0, "socket");
  return socket;
}

struct ListeningSocket {
  Socket socket = tcp_socket();
  sockaddr_in address{};

  ListeningSocket() {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    require(::bind(socket.get(), as_sockaddr(), bytes) == 0, "bind");
    require(::listen(socket.get(), 128) == 0, "listen");
    require(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &bytes) == 0, "getsockname");
  }
  [[nodiscard]] const sockaddr* as_sockaddr() const { return reinterpret_cast<const sockaddr*>(&address); }
};

inline constexpr int kWaitLimitMs = 120'000;

// Blocking helpers for the side of a connection that the test plays by hand.
inline Socket connect_to(const ListeningSocket& listener) {
  Socket socket = tcp_socket();
  require(::connect(socket.get(), listener.as_sockaddr(), sizeof listener.address) == 0, "connect");
  return socket;
}
inline Socket accept_from(const ListeningSocket& listener) {
  pollfd wait{listener.socket.get(), POLLIN, 0};
  require(::poll(&wait, 1, kWaitLimitMs) == 1, "nobody connected");
  return Socket(::accept(listener.socket.get(), nullptr, nullptr));
}
inline void write_all(const Socket& socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    require(sent > 0, "send");
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

}  // namespace exs::iwarp::test
