// Errors inside the library: an errno value in a class the compiler will not let a caller drop. A sentence about it may
// be kept elsewhere: refuse() (refusal.h) keeps one about a call, fault() (log.h) one about a connection.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstdint>

#include <tl/expected.hpp>

namespace exs {

// Thread: immutable value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(int error_number) : Status(error_number, 0) {}
  Status(int error_number, std::uint32_t sentence)
      : word_(std::uint64_t{sentence} << kErrorBits | static_cast<std::uint32_t>(error_number)) {}

  [[nodiscard]] bool ok() const noexcept { return error() == 0; }
  [[nodiscard]] int error() const noexcept { return static_cast<int>(word_); }
  // The number of the sentence: odd for refuse(), even for fault(). 0: there is none.
  [[nodiscard]] std::uint32_t sentence() const noexcept {
    return static_cast<std::uint32_t>(word_ >> kErrorBits);
  }

  friend bool operator==(Status a, Status b) noexcept { return a.error() == b.error(); }

 private:
  static constexpr int kErrorBits = 32;

  // One word: a load of two halves that were just stored would wait for both stores.
  std::uint64_t word_ = 0;
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

// Converts the result of a kernel call that returned 0, or -1 and errno.
inline Status kernel_status(int result) noexcept {
  return result == 0 ? Status() : Status(errno);
}

}  // namespace exs
