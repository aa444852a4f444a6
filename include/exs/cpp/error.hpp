// Errors in the C++ layer: errno values as std::error_code, and what became of calls and operations.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_ERROR_HPP
#define EXS_CPP_ERROR_HPP

#include <exs/exs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace exs::cpp {

// An errno value as a code that compares with std::errc; 0: no error.
inline std::error_code error_of(int number) noexcept {
  return {number, std::generic_category()};
}

// The error of a call that returned `result`; -1: it is in errno.
inline std::error_code error_after(int result) noexcept {
  return error_of(result == -1 ? errno : 0);
}

// For set-up calls: returns `result`, or throws the error in errno if it is -1, with the words of exs_errtext().
inline int checked(int result, const char* call) {
  if (result == -1) {
    const char* const words = exs_errtext();
    throw std::system_error(error_of(errno), *words != '\0' ? words : call);
  }
  return result;
}

// What became of a call, or of an operation. Whatever may fail while a program runs gives one, and so does each
// co_await, or a type that derives from it and says more. The same words hold for all of them:
//   if (outcome)       it has succeeded
//   outcome.error      why not
//   outcome.value()    what it has brought; throws the error as std::system_error if there is one
struct Outcome {
  std::error_code error;

  explicit operator bool() const noexcept { return !error; }
  void value() const {
    if (error) throw std::system_error(error);
  }
};

inline Outcome outcome_of(int result) noexcept {
  return {error_after(result)};
}

// The outcome of a transfer.
struct [[nodiscard]] Result : Outcome {
  std::size_t bytes = 0;
  std::uint32_t flags = 0;  // EXS_EVF_*

  // The peer has ended its sending.
  [[nodiscard]] bool ended() const noexcept { return (flags & EXS_EVF_EOF) != 0; }
  // The message was longer than the buffer.
  [[nodiscard]] bool truncated() const noexcept { return (flags & EXS_EVF_TRUNC) != 0; }
  std::size_t value() const {
    Outcome::value();
    return bytes;
  }
};

}  // namespace exs::cpp

#endif  // EXS_CPP_ERROR_HPP
