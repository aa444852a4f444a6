// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/windows.h"

#include "src/proto/slice_cursor.h"

namespace exs::proto {

Result<Windows> open_windows(Link& link, const Operation& operation) {
  Windows windows;
  windows.length_bytes = operation.memory.length_bytes;
  for (SliceCursor pieces(operation); pieces.left_bytes() > 0;) {
    const Result<RemoteSlice> window = link.expose(pieces.next(UINT64_MAX), Access::kRemoteRead);
    if (!window) {
      static_cast<void>(close_windows(link, windows));
      return failure(window.error());
    }
    if (windows.first.length_bytes == 0) {
      windows.first = *window;
    } else {
      windows.more.push_back(*window);
    }
  }
  return windows;
}

Status close_windows(Link& link, const Windows& windows) {
  Status status;
  if (windows.first.length_bytes > 0) status = link.withdraw(windows.first.key);
  for (const RemoteSlice& window : windows.more) {
    if (const Status also = link.withdraw(window.key); status.ok()) status = also;
  }
  return status;
}

}  // namespace exs::proto
