// System calls without the C library. They return a negative errno instead of setting errno, and are no
// cancellation points, so a caller may hold a lock. Thread: any; also in a signal handler.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/syscall.h>

#include <type_traits>

namespace exs::sockets::raw {

#if defined(__x86_64__)
inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) noexcept {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) noexcept {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
  return x0;
}
#else
// No #error: analysers that name no processor come here.
static_assert(sizeof(long) == 0, "the sockets layer knows the system calls of x86-64 and of 64-bit ARM only");
long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept;
#endif

template <typename Value>
long word(Value value) noexcept {
  if constexpr (std::is_null_pointer_v<Value>) {
    return 0;
  } else if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<long>(value);
  } else {
    return static_cast<long>(value);
  }
}
template <typename... Values>
long sys(long number, Values... values) noexcept {
  return call(number, word(values)...);
}

// The memory that mmap() or mremap() has returned. Null: the kernel refused.
inline void* memory_of(long result) noexcept {
  constexpr long kErrorsEnd = -4096;
  if (result < 0 && result > kErrorsEnd) return nullptr;
  return reinterpret_cast<void*>(result);  // NOLINT(performance-no-int-to-ptr): the kernel returns a number
}

}  // namespace exs::sockets::raw
