// Stream sockets of a load, TCP or Unix, as any program uses them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>

namespace sockets_load {

// Ends the program with a line if `holds` is false.
void check(bool holds, const char* what);

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket& operator=(Socket&&) = delete;

  int number() const { return descriptor_; }
  Socket accept_one() const;
  // Small sends leave at once instead of being combined (Nagle). This has no effect on a Unix socket.
  void send_at_once() const;
  void send_all(const char* from, std::size_t length_bytes) const;
  // Receives at least one byte; 0: the peer has ended.
  std::size_t receive_some(char* into, std::size_t length_bytes) const;
  // Returns false if the peer has ended.
  bool receive_all(char* into, std::size_t length_bytes) const;
  void end_sending() const;

 private:
  int descriptor_;
};

// `where` is tcp, for loopback with a port of the kernel's choice, or unix:PATH. `told` is set to the argument for connect_to().
Socket listen_at(const std::string& where, std::string& told);

// Takes tcp:PORT or unix:PATH.
Socket connect_to(const std::string& where);

}  // namespace sockets_load
