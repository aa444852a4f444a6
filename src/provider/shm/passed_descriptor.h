// A descriptor that a peer has passed, of any kind. Its last close can take as long as the peer likes. With
// SO_LINGER and unsent bytes a TCP socket takes an hour, and a file takes what its file system takes. So a
// descriptor of another kind than honest peers pass is closed by a separate thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace exs::shm {

// Thread: the owner's.
class PassedDescriptor {
 public:
  PassedDescriptor() = default;
  explicit PassedDescriptor(UniqueFd descriptor) noexcept : descriptor_(std::move(descriptor)) {}
  ~PassedDescriptor() { reset(); }
  PassedDescriptor(PassedDescriptor&&) noexcept = default;
  PassedDescriptor& operator=(PassedDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      descriptor_ = std::move(other.descriptor_);
    }
    return *this;
  }

  [[nodiscard]] int get() const noexcept { return descriptor_.get(); }
  [[nodiscard]] bool valid() const noexcept { return descriptor_.valid(); }
  // For callers that have checked its kind.
  UniqueFd release() noexcept { return std::move(descriptor_); }
  void reset() noexcept;

 private:
  UniqueFd descriptor_;
};

// Writing to one never waits while it does not block, and neither does closing it.
bool is_eventfd(int descriptor) noexcept;

// Closes in a thread for which no other thread waits.
void close_elsewhere(UniqueFd descriptor) noexcept;
void close_elsewhere(std::vector<UniqueFd> descriptors) noexcept;
// The number of such threads in the process. At kClosingMax, accept no more peers.
std::size_t closing() noexcept;
inline constexpr std::size_t kClosingMax = 8;

}  // namespace exs::shm
