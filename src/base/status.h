// Errors inside the library: an errno value in a class the compiler will not let a caller drop.
#pragma once

#include <cerrno>

#include <tl/expected.hpp>

namespace exs {

// Thread: immutable value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(int error_number) : errno_(error_number) {}

  [[nodiscard]] bool ok() const noexcept { return errno_ == 0; }
  [[nodiscard]] int error() const noexcept { return errno_; }

  friend bool operator==(Status a, Status b) noexcept { return a.errno_ == b.errno_; }

 private:
  int errno_ = 0;
};

template <typename T>
using Result = tl::expected<T, Status>;

// `return failure(ENOMEM);` from a function that returns Result<T>.
inline tl::unexpected<Status> failure(int error_number) {
  return tl::unexpected<Status>(Status(error_number));
}
inline tl::unexpected<Status> failure(Status status) {
  return tl::unexpected<Status>(status);
}

// Of a call to the kernel that returned 0, or -1 and errno.
inline Status kernel_status(int result) noexcept {
  return result == 0 ? Status() : Status(errno);
}

}  // namespace exs
