// Stream sockets of a load, TCP or Unix, as any program uses them.
#pragma once

#include <cstddef>
#include <string>

namespace sockets_load {

// Ends the program with a line if not.
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
  // Small sends leave at once instead of being combined (Nagle). Means nothing to a Unix socket.
  void send_at_once() const;
  void send_all(const char* from, std::size_t length_bytes) const;
  // What is there, at least a byte; 0: the peer has ended.
  std::size_t receive_some(char* into, std::size_t length_bytes) const;
  // False: the peer has ended.
  bool receive_all(char* into, std::size_t length_bytes) const;
  void end_sending() const;

 private:
  int descriptor_;
};

// `where` is tcp, of loopback with a port that the kernel chooses, or unix:PATH. `told` is what connect_to takes.
Socket listen_at(const std::string& where, std::string& told);

// tcp:PORT or unix:PATH.
Socket connect_to(const std::string& where);

}  // namespace sockets_load
