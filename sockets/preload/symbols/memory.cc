// mlockall and munlockall: the layer limits its own memory while all memory is locked.
#include <sys/mman.h>

#include "sockets/preload/libc.h"
#include "sockets/preload/segment.h"
#include "sockets/preload/symbols/export.h"

using namespace exs::sockets;

EXS_EXPORT int mlockall(int flags) noexcept {
  static const auto next = find_function<int (*)(int)>("mlockall");
  const int result = next(flags);
  if (result == 0) note_locking((flags & MCL_FUTURE) != 0);
  return result;
}
EXS_EXPORT int munlockall() noexcept {
  static const auto next = find_function<int (*)()>("munlockall");
  const int result = next();
  if (result == 0) note_locking(false);
  return result;
}
