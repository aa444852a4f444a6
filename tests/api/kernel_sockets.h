// Kernel stream sockets as an application opens them, and the blocking calls of a peer that does not use exs.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {

// Closes its descriptor, unless release() or close() was called.
class KernelSocket {
 public:
  KernelSocket() = default;
  explicit KernelSocket(int number) : number_(number) {}
  KernelSocket(KernelSocket&& other) noexcept : number_(other.release()) {}
  KernelSocket& operator=(KernelSocket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~KernelSocket() { close(); }
  [[nodiscard]] int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  // Closes the socket so that the peer sees a reset.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(number_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }
  [[nodiscard]] bool blocks() const { return (::fcntl(number_, F_GETFL) & O_NONBLOCK) == 0; }
  void set_blocking(bool blocking) { ::fcntl(number_, F_SETFL, blocking ? 0 : O_NONBLOCK); }

  bool write_all(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(number_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Returns fewer bytes at the end of the stream.
  [[nodiscard]] std::vector<std::byte> read(std::size_t length_bytes) const {
    std::vector<std::byte> bytes(length_bytes);
    const ssize_t got = ::recv(number_, bytes.data(), length_bytes, MSG_WAITALL);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  }

 private:
  int number_ = -1;
};

struct KernelListener {
  KernelListener() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    ::bind(socket.number(), generic(address), sizeof address);
    ::listen(socket.number(), 128);
    socklen_t length = sizeof address;
    ::getsockname(socket.number(), generic(address), &length);
  }
  [[nodiscard]] KernelSocket connect() {
    KernelSocket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(made.number(), generic(address), sizeof address) != 0) made.close();
    return made;
  }
  sockaddr_in address = loopback();
  KernelSocket socket;
};

enum class Family { kTcp, kLocal };

// `near` is for exs calls, `far` for plain ones.
struct KernelPair {
  explicit KernelPair(Family family = Family::kTcp) {
    if (family == Family::kLocal) {
      int ends[2] = {-1, -1};
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
      near = KernelSocket(ends[0]);
      far = KernelSocket(ends[1]);
      return;
    }
    KernelListener listener;
    near = listener.connect();
    far = KernelSocket(::accept4(listener.socket.number(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  KernelSocket near, far;
};

}  // namespace exs::test
