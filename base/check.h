// Checks of our own invariants. Bytes from a peer and arguments from a user never reach one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs {

// Writes the text and aborts. The preloaded library has one of its own (sockets/preload/kernel/check_failed.cc).
[[noreturn]] void check_failed(const char* text) noexcept;

}  // namespace exs

#define EXS_TEXT_OF_(text) #text
#define EXS_TEXT_OF(text) EXS_TEXT_OF_(text)

// In every build: a branch that is never taken.
#define EXS_CHECK(condition)                                                           \
  (__builtin_expect(static_cast<bool>(condition), 1)                                   \
       ? static_cast<void>(0)                                                          \
       : ::exs::check_failed("exs: internal check failed: " #condition " at " __FILE__ \
                             ":" EXS_TEXT_OF(__LINE__) "\n"))

// In debug builds and under sanitizers: a look at more than what the function has at hand. Elsewhere the condition is compiled, and not
// evaluated.
#if defined(EXS_DEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EXS_DEBUG_CHECK(condition) EXS_CHECK(condition)
#else
#define EXS_DEBUG_CHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif
