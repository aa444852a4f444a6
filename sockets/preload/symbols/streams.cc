// stdio, whose functions read and write below our names. A connection with a stream of the program goes back
// to TCP, because our stream could not do all that the C library's does (freopen, wide characters).
// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/symbols/streams.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/process/numbers.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"

namespace exs::sockets {
namespace {

struct Stream {
  int number;
  char buffer[BUFSIZ];
};

Stream& stream_of(void* cookie) noexcept {
  return *static_cast<Stream*>(cookie);
}
ssize_t read_stream(void* cookie, char* memory, std::size_t bytes) noexcept {
  return read(stream_of(cookie).number, memory, bytes);
}
int seek_stream(void*, off64_t*, int) noexcept {
  errno = ESPIPE;
  return -1;
}
int close_stream(void* cookie) noexcept {
  const int result = close(stream_of(cookie).number);
  std::free(cookie);
  return result;
}

// The size of the C library's own buffer, because programs can observe the read-ahead.
std::size_t buffer_bytes(int number) noexcept {
  struct stat about {};
  if (fstat(number, &about) != 0 || about.st_blksize <= 0 || about.st_blksize > BUFSIZ) return BUFSIZ;
  return static_cast<std::size_t>(about.st_blksize);
}

// Null: no memory.
FILE* open_stream(int number) noexcept {
  const std::size_t bytes = buffer_bytes(number);
  auto* const cookie = static_cast<Stream*>(std::malloc(sizeof(Stream)));
  if (cookie == nullptr) return nullptr;
  cookie->number = number;
  FILE* const stream = fopencookie(cookie, "r", {read_stream, nullptr, seek_stream, close_stream});
  if (stream == nullptr) {
    std::free(cookie);
    return nullptr;
  }
  std::setvbuf(stream, cookie->buffer, _IOFBF, bytes);
  stream->_fileno = number;
  return stream;
}

int print(int number, const char* format, va_list arguments) noexcept {
  char* text = nullptr;
  const int bytes = vasprintf(&text, format, arguments);
  if (bytes < 0) return bytes;
  int written = 0;
  while (written < bytes) {
    const ssize_t count = write(number, text + written, static_cast<std::size_t>(bytes - written));
    if (count <= 0) break;
    written += static_cast<int>(count);
  }
  std::free(text);
  return written == bytes ? bytes : -1;
}

// Replaces stdin by our stream. False: it does not belong to the connection, or it has buffered bytes.
bool replace_stdin() noexcept {
  static FILE* own = nullptr;
  if (own != nullptr && stdin == own) return true;
  if (stdin == nullptr || stdin->_fileno != STDIN_FILENO || stdin->_IO_read_ptr != stdin->_IO_read_end)
    return false;
  own = open_stream(STDIN_FILENO);
  if (own != nullptr) stdin = own;
  return own != nullptr;
}

}  // namespace

void fit_standard_stream(int number) noexcept {
  const std::uint32_t index = slot_of(number);
  if (index == 0 || is_vfork_child()) return;
  const int error = errno;
  if (number != STDIN_FILENO) {
    prepare_urgent(number, Why::kStandardStream);  // sends by TCP from now on, in order
  } else if (detach_with_unread(number, index, Why::kStandardStream) && !replace_stdin()) {
    detach(number, Why::kStandardStream);
  }
  errno = error;
}

namespace {
// Fits the streams that the program has inherited.
__attribute__((constructor)) void fit_standard_streams() noexcept {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) fit_standard_stream(number);
}
}  // namespace

}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT FILE* fdopen(int number, const char* mode) noexcept {
  FILE* const stream = libc().fdopen(number, mode);
  if (stream == nullptr || slot_of(number) == 0) return stream;
  detach(number, Why::kOption);
  forget_number(number);  // the stream will close it unseen
  return stream;
}

EXS_EXPORT int vdprintf(int number, const char* format, va_list arguments) {
  if (slot_of(number) != 0) return print(number, format, arguments);
  return libc().vdprintf(number, format, arguments);
}
EXS_EXPORT int __vdprintf_chk(int number, int, const char* format, va_list arguments) noexcept {
  return vdprintf(number, format, arguments);
}
EXS_EXPORT int dprintf(int number, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = vdprintf(number, format, arguments);
  va_end(arguments);
  return result;
}
EXS_EXPORT int __dprintf_chk(int number, int, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const int result = vdprintf(number, format, arguments);
  va_end(arguments);
  return result;
}
