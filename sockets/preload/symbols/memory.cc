// mlockall and munlockall: the layer limits its own memory while all memory is locked.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include <cerrno>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table/segment.h"
#include "sockets/preload/table/table.h"

using namespace exs::sockets;

EXS_EXPORT int mlockall(int flags) noexcept {
  static const auto next = find_function<int (*)(int)>("mlockall");
  int result = next(flags);
  if (is_vfork_child()) return result;
  if (result != 0 && errno == ENOMEM && give_rings_back(has_rings)) result = next(flags);
  if (result != 0) return result;
  note_locking((flags & MCL_FUTURE) != 0);
  if ((flags & MCL_CURRENT) != 0) give_rings_back(lock_too_much);
  return result;
}
EXS_EXPORT int munlockall() noexcept {
  static const auto next = find_function<int (*)()>("munlockall");
  const int result = next();
  if (result == 0) note_locking(false);
  return result;
}
