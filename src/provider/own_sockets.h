// The kernel sockets that the library has opened. They must not be mistaken for sockets of the application:
// during a set-up, when the application does not know the number; after exs_close, while an event holds the
// number; and in a forked child.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/drive_lock.h"
#include "base/status.h"

namespace exs {

// State of the whole process, inherited by its children. Thread: any.
class OwnSockets {
 public:
  static constexpr int kNumbersMax = 1 << 20;

  // `open` opens a socket, without waiting, and returns its number, or -1 and errno. has() knows the number
  // before any other thread can ask for it.
  template <typename Open>
  static Result<int> open(Open&& open) {
    LockGuard guard(opening_);
    const int number = std::forward<Open>(open)();
    if (number < 0) return failure(errno);
    add(number);
    return number;
  }
  static void add(int number);
  static void add(int number, std::uint64_t cookie);
  // `cookie`: of the socket that the number means or meant. Includes sockets that are being opened.
  [[nodiscard]] static bool has(int number, std::uint64_t cookie);

  // Around a fork, so that open() works in the child.
  static void lock() EXS_ACQUIRE(opening_) { opening_.lock(); }
  static void unlock() EXS_RELEASE(opening_) { opening_.unlock(); }

 private:
  static Mutex opening_;
};

}  // namespace exs
