// POSIX asynchronous I/O. Threads of the C library make its calls below our names, so TCP serves it.
// SPDX-License-Identifier: BSD-2-Clause
#include <aio.h>

#include <cstddef>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table/table.h"

namespace exs::sockets {
namespace {

void leave_for(const void* control) noexcept {
  if (!is_there(control, sizeof(int))) return;
  // Both kinds of control blocks begin with the number.
  const int number = *static_cast<const int*>(control);
  if (slot_of(number) != 0) detach(number, Why::kOption);
}
void leave_for_all(const void* const* controls, int count) noexcept {
  for (int i = 0; i < count && is_there(&controls[i]); ++i) leave_for(controls[i]);
}
static_assert(offsetof(aiocb, aio_fildes) == 0 && offsetof(aiocb64, aio_fildes) == 0);

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

// NOLINTBEGIN(bugprone-macro-parentheses): declarations of their arguments
#define EXS_ONE(name, block)                                        \
  EXS_EXPORT int name(block* control) noexcept {                    \
    static const auto next = find_function<int (*)(block*)>(#name); \
    leave_for(control);                                             \
    return next(control);                                           \
  }
#define EXS_LIST(name, block)                                                                   \
  EXS_EXPORT int name(int mode, block* const* controls, int count, sigevent* notice) noexcept { \
    static const auto next = find_function<int (*)(int, block* const*, int, sigevent*)>(#name); \
    leave_for_all(reinterpret_cast<const void* const*>(controls), count);                       \
    return next(mode, controls, count, notice);                                                 \
  }
// NOLINTEND(bugprone-macro-parentheses)
EXS_ONE(aio_read, aiocb)
EXS_ONE(aio_write, aiocb)
EXS_ONE(aio_read64, aiocb64)
EXS_ONE(aio_write64, aiocb64)
EXS_LIST(lio_listio, aiocb)
EXS_LIST(lio_listio64, aiocb64)
