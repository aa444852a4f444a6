// The end of a connection over a Unix socket. Another user may have put descriptors into it that nobody has received, and
// the last close of one can take as long as he likes: that of a TCP socket with SO_LINGER and unsent bytes an hour. So
// another user's connection is closed by a thread of its own.
#pragma once

#include <cstddef>
#include <utility>

#include "src/base/unique_fd.h"

namespace exs::shm {

// Thread: the owner's.
class PeerSocket {
 public:
  PeerSocket() = default;
  explicit PeerSocket(UniqueFd socket) noexcept : socket_(std::move(socket)) {}
  ~PeerSocket() { reset(); }
  PeerSocket(PeerSocket&&) noexcept = default;
  PeerSocket& operator=(PeerSocket&& other) noexcept {
    if (this != &other) {
      reset();
      socket_ = std::move(other.socket_);
    }
    return *this;
  }

  [[nodiscard]] int get() const noexcept { return socket_.get(); }
  [[nodiscard]] bool valid() const noexcept { return socket_.valid(); }
  void reset() noexcept;

  // Other users' connections that are not closed yet, of the whole process. With kClosingMax no more of them should be
  // accepted.
  static std::size_t closing() noexcept;
  static constexpr std::size_t kClosingMax = 8;

 private:
  UniqueFd socket_;
};

}  // namespace exs::shm
