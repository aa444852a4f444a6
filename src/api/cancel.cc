// exs_cancel.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/adopt.h"
#include "src/api/api_call.h"
#include "src/api/control.h"

using namespace exs;

int exs_cancel(int number, exs_ahandle_t handle, int flags) {
  return api_call([&](Library& library) -> Result<int> {
    constexpr int kKnown = EXS_CAF_FILDES | EXS_CAF_AHANDLE;
    if (flags == 0 || (flags & ~kKnown) != 0)
      return failure(
          refuse(EINVAL, "the flags are {:#x}: give EXS_CAF_FILDES, EXS_CAF_AHANDLE or both", flags));
    proto::Selection selection;
    selection.any_handle = (flags & EXS_CAF_AHANDLE) == 0;
    selection.handle = handle;
    std::uint32_t matched = 0;
    if ((flags & EXS_CAF_FILDES) != 0) {
      const auto socket = find_socket(library, number);
      if (!socket) return failure(no_such_socket(number));
      matched = cancel_on(*socket, selection);
    } else {
      for (const auto& socket : library.sockets.all()) matched += cancel_on(*socket, selection);
    }
    if (matched == 0)
      return failure(
          refuse(ENOENT, "no pending operation matches: each has its event already, or another handle"));
    return static_cast<int>(matched);
  });
}
