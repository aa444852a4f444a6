// Which kernel sockets are the library's own, so that nobody takes one for a socket of the application: not
// while a connection is being set up and its number has been told to no one, not after exs_close while an
// event holds the number, not in a child after fork.
#pragma once

#include <cerrno>
#include <cstdint>
#include <utility>

#include "src/base/drive_lock.h"
#include "src/base/status.h"

namespace exs {

// Of the whole process, and inherited by its children. Thread: any.
class OwnSockets {
 public:
  static constexpr int kNumbersMax = 1 << 20;

  // `open` opens a socket, without waiting, and returns its number, or -1 and errno. Nobody comes upon the
  // number before it is known for ours.
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
  // `cookie`: of the socket that the number means or meant. A socket that is being opened counts.
  [[nodiscard]] static bool has(int number, std::uint64_t cookie);

  // Around a fork, so that a child can go on opening.
  static void lock() EXS_ACQUIRE(opening_) { opening_.lock(); }
  static void unlock() EXS_RELEASE(opening_) { opening_.unlock(); }

 private:
  static Mutex opening_;
};

}  // namespace exs
