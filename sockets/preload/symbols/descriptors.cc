// Functions that give out numbers and take them back.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdarg>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/process/numbers.h"
#include "sockets/preload/process/retire.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/symbols/streams.h"
#include "sockets/preload/table/table.h"

namespace exs::sockets {
namespace {

int fresh(int number) noexcept {
  if (number >= 0 && entry_of(number) != 0) forget_number(number);
  return number;
}
int fresh_pair(int result, const int* numbers) noexcept {
  if (result == 0) {
    fresh(numbers[0]);
    fresh(numbers[1]);
  }
  return result;
}
bool takes_mode(int flags) noexcept {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0;
}
bool is_hidden(int number) noexcept {
  return (entry_of(number) & (kHiddenBit | kListenerBit)) == kHiddenBit;
}

void note_new_name(int number, int original) noexcept {
  note_duplicate(number, original);
  if (number <= STDERR_FILENO) fit_standard_stream(number);
}

// Runs a call that makes `to` a duplicate.
template <typename Call>
int replace(int original, int to, const Call& call) noexcept {
  if (original == to || entry_of(to) == 0) {
    const int result = call();
    if (result >= 0 && original != to && entry_of(original) != 0) note_new_name(result, original);
    return result;
  }
  if (libc().fcntl(original, F_GETFD) < 0) return call();  // the call fails and closes nothing
  int result = 0;
  {
    const NumberClosing closing(to);
    result = call();
  }
  if (result >= 0) note_new_name(result, original);
  return result;
}

void close_known(unsigned first, unsigned last) noexcept {
  for (unsigned number = first; number <= last && number < static_cast<unsigned>(kNumbers); ++number)
    if (entry_of(static_cast<int>(number)) != 0 && !is_hidden(static_cast<int>(number)))
      close(static_cast<int>(number));
}

// Calls pieces(first, last) for the parts of a range between the layer's own descriptors. The last part
// begins at the result.
template <typename Close>
unsigned close_pieces(unsigned first, unsigned last, const Close& pieces) noexcept {
  for (unsigned number = first; number <= last && number < static_cast<unsigned>(kNumbers); ++number) {
    if (!is_hidden(static_cast<int>(number))) continue;
    if (number > first) pieces(first, number - 1);
    first = number + 1;
  }
  return first;
}

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT int close(int number) {
  if (__builtin_expect(entry_of(number) == 0, 1) != 0) return libc().close(number);
  if (is_hidden(number)) {
    errno = EBADF;
    return -1;
  }
  const NumberClosing closing(number);
  return libc().close(number);
}
EXS_EXPORT int __close(int number) {
  return close(number);
}
EXS_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  const auto ways = static_cast<unsigned>(flags);
  if ((ways & CLOSE_RANGE_UNSHARE) != 0 && first <= last)
    // Each thread may have its own numbers from now on.
    retire(Why::kUnseen);
  if ((ways & CLOSE_RANGE_CLOEXEC) != 0 || first > last) return libc().close_range(first, last, flags);
  if (!is_vfork_child()) close_known(first, last);
  first = close_pieces(first, last, [&](unsigned from, unsigned to) { libc().close_range(from, to, flags); });
  return first > last ? 0 : libc().close_range(first, last, flags);
}
EXS_EXPORT void closefrom(int first) noexcept {
  const unsigned begin = first < 0 ? 0 : static_cast<unsigned>(first);
  if (!is_vfork_child()) close_known(begin, kNumbers);
  const unsigned rest =
      close_pieces(begin, kNumbers, [](unsigned from, unsigned to) { libc().close_range(from, to, 0); });
  libc().closefrom(static_cast<int>(rest));
}

EXS_EXPORT int dup(int number) noexcept {
  const int result = libc().dup(number);
  if (result >= 0 && (entry_of(number) | entry_of(result)) != 0) note_new_name(result, number);
  return result;
}
EXS_EXPORT int dup2(int number, int to) noexcept {
  return replace(number, to, [&] { return libc().dup2(number, to); });
}
EXS_EXPORT int __dup2(int number, int to) noexcept {
  return dup2(number, to);
}
EXS_EXPORT int dup3(int number, int to, int flags) noexcept {
  return replace(number, to, [&] { return libc().dup3(number, to, flags); });
}
EXS_EXPORT int fcntl(int number, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const int result = libc().fcntl(number, command, argument);
  if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC) &&
      (entry_of(number) | entry_of(result)) != 0)
    note_new_name(result, number);
  return result;
}
EXS_EXPORT int fcntl64(int number, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return fcntl(number, command, argument);
}
EXS_EXPORT int __fcntl(int number, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return fcntl(number, command, argument);
}

EXS_EXPORT int socket(int family, int type, int protocol) noexcept {
  return fresh(libc().socket(family, type, protocol));
}
EXS_EXPORT int __socket(int family, int type, int protocol) noexcept {
  return socket(family, type, protocol);
}
EXS_EXPORT int socketpair(int family, int type, int protocol, int* numbers) noexcept {
  return fresh_pair(libc().socketpair(family, type, protocol, numbers), numbers);
}
EXS_EXPORT int pipe(int* numbers) noexcept {
  return fresh_pair(libc().pipe(numbers), numbers);
}
EXS_EXPORT int pipe2(int* numbers, int flags) noexcept {
  return fresh_pair(libc().pipe2(numbers, flags), numbers);
}
EXS_EXPORT int eventfd(unsigned value, int flags) noexcept {
  return fresh(libc().eventfd(value, flags));
}
EXS_EXPORT int creat(const char* path, mode_t mode) {
  return fresh(libc().creat(path, mode));
}
EXS_EXPORT int creat64(const char* path, mode_t mode) {
  return fresh(libc().creat64(path, mode));
}
// The mode exists only if the flags ask for one.
#define EXS_MODE(flags)               \
  mode_t mode = 0;                    \
  if (takes_mode(flags)) {            \
    va_list arguments;                \
    va_start(arguments, flags);       \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments);                \
  }
EXS_EXPORT int open(const char* path, int flags, ...) {
  EXS_MODE(flags)
  return fresh(libc().open(path, flags, mode));
}
EXS_EXPORT int open64(const char* path, int flags, ...) {
  EXS_MODE(flags)
  return fresh(libc().open64(path, flags, mode));
}
EXS_EXPORT int openat(int folder, const char* path, int flags, ...) {
  EXS_MODE(flags)
  return fresh(libc().openat(folder, path, flags, mode));
}
EXS_EXPORT int openat64(int folder, const char* path, int flags, ...) {
  EXS_MODE(flags)
  return fresh(libc().openat64(folder, path, flags, mode));
}
