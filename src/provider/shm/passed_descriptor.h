// A descriptor that a peer has passed. It may be of any kind, and the last close of one can take as long as the peer likes: that of
// a TCP socket with SO_LINGER and unsent bytes an hour, that of a file whatever its file system does. So whatever is not of the kinds
// that an honest peer passes is closed by a thread of its own.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "src/base/unique_fd.h"

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
  // To who has looked at its kind.
  UniqueFd release() noexcept { return std::move(descriptor_); }
  void reset() noexcept;

 private:
  UniqueFd descriptor_;
};

// Writing to one never waits while it does not block, and neither does closing it.
bool is_eventfd(int descriptor) noexcept;

// By a thread, which nobody waits for.
void close_elsewhere(UniqueFd descriptor) noexcept;
void close_elsewhere(std::vector<UniqueFd> descriptors) noexcept;
// Such threads, of the whole process. With kClosingMax no more peers should be accepted.
std::size_t closing() noexcept;
inline constexpr std::size_t kClosingMax = 8;

}  // namespace exs::shm
