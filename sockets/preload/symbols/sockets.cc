// How connections begin and end, and their options.
// SPDX-License-Identifier: BSD-2-Clause
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdarg>

#include "sockets/between/library.h"
#include "sockets/preload/detach/detach.h"
#include "sockets/preload/ends/reset.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/kernel/settings_in_use.h"
#include "sockets/preload/process/numbers.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/transfer/options.h"
#include "sockets/preload/transfer/transfer.h"

namespace exs::sockets {
namespace {

bool is_tcp(int number) noexcept {
  int protocol = 0;
  socklen_t length = sizeof protocol;
  return raw::sys(SYS_getsockopt, number, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 &&
         protocol == IPPROTO_TCP;
}

int accepted(int listener, int number, const void* caller) noexcept {
  if (number < 0 || !settings().on || between::is_in_library(caller)) return number;
  const int error = errno;
  forget_number(number);
  if ((entry_of(listener) & kListenerBit) != 0) {
    note_connection(number, false);
  } else if (is_tcp(number)) {  // another program opened the listening socket
    note_listener(listener);
    note_connection(number, false);
  }
  errno = error;
  return number;
}

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT int listen(int number, int backlog) {
  const int result = libc().listen(number, backlog);
  if (result == 0 && settings().on && is_tcp(number) && !between::is_in_library(__builtin_return_address(0)))
    note_listener(number);
  return result;
}
EXS_EXPORT int accept(int number, sockaddr* from, socklen_t* length) {
  return accepted(number, libc().accept(number, from, length), __builtin_return_address(0));
}
EXS_EXPORT int accept4(int number, sockaddr* from, socklen_t* length, int flags) {
  return accepted(number, libc().accept4(number, from, length, flags), __builtin_return_address(0));
}
EXS_EXPORT int connect(int number, const sockaddr* to, socklen_t length) {
  if (between::is_in_library(__builtin_return_address(0))) return libc().connect(number, to, length);
  const bool ends = length >= sizeof to->sa_family && is_there(&to->sa_family) && to->sa_family == AF_UNSPEC;
  if (ends && slot_of(number) != 0) detach(number, Why::kOption);
  if (!ends && slot_of(number) != 0 && was_reset(slot_at(slot_of(number)))) {
    errno = EISCONN;
    return -1;
  }
  const int result = libc().connect(number, to, length);
  const int error = errno;
  if (ends) {
    if (result == 0) forget_number(number);
  } else if ((result == 0 || error == EINPROGRESS || error == EINTR) && slot_of(number) == 0 &&
             settings().on && is_tcp(number)) {
    note_connection(number, true);
  }
  errno = error;
  return result;
}
EXS_EXPORT int __connect(int number, const sockaddr* to, socklen_t length) {
  return connect(number, to, length);
}

EXS_EXPORT int shutdown(int number, int how) {
  if (slot_of(number) != 0 && how != SHUT_RD) end_sending(number);
  const int result = libc().shutdown(number, how);
  const std::uint32_t slot = slot_of(number);
  if (result != 0 || slot == 0) return result;
  // After both directions are shut, the kernel answers later bytes with a reset.
  const int ways = how + 1;
  constexpr int kBoth = SHUT_RDWR + 1;
  if ((slot_at(slot).options.shut.fetch_or(static_cast<std::uint8_t>(ways)) | ways) == kBoth)
    refuse_bytes(number);
  return result;
}

EXS_EXPORT int getsockopt(int number, int level, int name, void* value, socklen_t* length) {
  constexpr int kZerocopyReceive = 35;  // TCP_ZEROCOPY_RECEIVE, which receives bytes
  if (level == IPPROTO_TCP && name == kZerocopyReceive && slot_of(number) != 0) detach(number, Why::kOption);
  const int result = libc().getsockopt(number, level, name, value, length);
  const std::uint32_t slot = slot_of(number);
  if (slot != 0 && result == 0) correct_option(slot, level, name, value, *length);
  return result;
}
EXS_EXPORT int setsockopt(int number, int level, int name, const void* value, socklen_t length) {
  const std::uint32_t slot = slot_of(number);
  if (slot != 0 && !before_option(number, slot, level, name, value, length)) return 0;
  const int result = libc().setsockopt(number, level, name, value, length);
  if (slot != 0 && result == 0) after_option(number, slot, level, name, value, length);
  return result;
}

EXS_EXPORT int ioctl(int number, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const std::uint32_t slot = slot_of(number);
  int bytes = -1;
  if (slot == 0 || !is_writable(argument, sizeof bytes)) return libc().ioctl(number, request, argument);
  if (request == FIONREAD) bytes = unread_bytes(number, slot);
  if (request == SIOCATMARK && bytes_in_ring(number, slot) > 0)
    // The urgent byte came by TCP and lies behind these.
    bytes = 0;
  if (bytes < 0) return libc().ioctl(number, request, argument);
  *static_cast<int*>(argument) = bytes;
  return 0;
}
