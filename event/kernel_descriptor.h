// The kernel descriptor behind an exs descriptor, and so its number. Shared by the socket, its session and
// every event that names the number: the kernel may hand the number out again only when all are gone.
#pragma once

#include "src/base/unique_fd.h"

namespace exs {

// Thread: immutable after construction.
class KernelDescriptor {
 public:
  explicit KernelDescriptor(UniqueFd descriptor) noexcept : descriptor_(std::move(descriptor)) {}
  [[nodiscard]] int number() const noexcept { return descriptor_.get(); }

 private:
  const UniqueFd descriptor_;
};

}  // namespace exs
