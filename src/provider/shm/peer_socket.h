// The end of a connection over a Unix socket. The peer may have sent descriptors that are unreceived, and
// that must not be closed here (passed_descriptor.h). Nothing is received from another user, so that user's
// connection is closed by a separate thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <utility>

#include "base/unique_fd.h"

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

 private:
  UniqueFd socket_;
};

}  // namespace exs::shm
