// Errors in the C++ layer: errno values as std::error_code.
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

// The outcome of a call that returned `result`; -1: the error is in errno.
inline std::error_code outcome_of(int result) noexcept {
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

// The outcome of a transfer.
struct [[nodiscard]] Result {
  std::error_code error;
  std::size_t bytes = 0;
  std::uint32_t flags = 0;  // EXS_EVF_*

  explicit operator bool() const noexcept { return !error; }
  // The peer has ended its sending.
  [[nodiscard]] bool ended() const noexcept { return (flags & EXS_EVF_EOF) != 0; }
  // The message was longer than the buffer.
  [[nodiscard]] bool truncated() const noexcept { return (flags & EXS_EVF_TRUNC) != 0; }
  // Returns the bytes, or throws the error.
  std::size_t value() const {
    if (error) throw std::system_error(error);
    return bytes;
  }
};

}  // namespace exs::cpp

#endif  // EXS_CPP_ERROR_HPP
