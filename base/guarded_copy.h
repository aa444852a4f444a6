// Copies of memory that the program has given to an operation and may have unmapped or protected since. A
// fault in such a copy ends the copy, not the program. The handlers of SIGSEGV and SIGBUS recognise the fault
// by the address of its instruction, which lies in the copy. So a successful copy costs nothing more, and
// every other fault goes to the previous handler.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <new>

namespace exs {

#if defined(__x86_64__)
extern "C" [[gnu::visibility("hidden")]] int exs_guarded_copy(void* to, const void* from,
                                                              std::size_t bytes) noexcept;
#endif

// The sanitizers do not see a copy in assembler, so it is shown to them. Poisoned memory is shown by a copy
// that they report.
#if defined(__SANITIZE_ADDRESS__)
extern "C" void* __asan_region_is_poisoned(void* start,
                                           std::size_t bytes);  // NOLINT(bugprone-reserved-identifier)
inline void show_copy(void* to, const void* from, std::size_t bytes) noexcept {
  if (__asan_region_is_poisoned(to, bytes) != nullptr ||
      __asan_region_is_poisoned(const_cast<void*>(from), bytes) != nullptr)
    std::memcpy(to, from, bytes);
}
#elif defined(__SANITIZE_THREAD__)
extern "C" void __tsan_read_range(void* start, std::size_t bytes);   // NOLINT(bugprone-reserved-identifier)
extern "C" void __tsan_write_range(void* start, std::size_t bytes);  // NOLINT(bugprone-reserved-identifier)
inline void show_copy(void* to, const void* from, std::size_t bytes) noexcept {
  __tsan_read_range(const_cast<void*>(from), bytes);
  __tsan_write_range(to, bytes);
}
#else
inline void show_copy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) noexcept {}
#endif

// The calling thread takes faults from now on. It may have been started with all signals blocked, and the kernel ends a process of
// which a thread blocks a fault of its own. A thread that blocks them later, or a handler with such a mask, is not noticed: to ask
// for the mask would cost a system call for each copy.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local bool takes_faults;
void begin_to_take_faults() noexcept;
inline void take_faults() noexcept {
  if (!takes_faults) begin_to_take_faults();
}

// False: some of either memory is not there, and an unknown part has been copied. Without a FaultWatch, or on
// another processor, a fault ends the program. Thread: any.
[[nodiscard]] inline bool guarded_copy(void* to, const void* from, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  take_faults();
  show_copy(to, from, bytes);
  return exs_guarded_copy(to, from, bytes) != 0;
#else
  if (bytes > 0) std::memcpy(to, from, bytes);
  return true;
#endif
}

// Memory of an operation is not there. Code that contains a lack of memory contains this, too.
class MemoryGone final : public std::bad_alloc {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "memory of an operation is not there"; }
};
// Throws MemoryGone.
inline void copy_of_program(void* to, const void* from, std::size_t bytes) {
  if (!guarded_copy(to, from, bytes)) throw MemoryGone();
}

// While one exists, faults in guarded copies are handled. Thread: any.
class FaultWatch {
 public:
  FaultWatch() noexcept;
  ~FaultWatch();
  FaultWatch(const FaultWatch&) = delete;
  FaultWatch& operator=(const FaultWatch&) = delete;
  // Around a fork, so that the child inherits no lock that is held.
  static void lock() noexcept;
  static void unlock() noexcept;
};

}  // namespace exs
