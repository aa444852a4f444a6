// The open numbers of a process, from a folder of /proc. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {

// Calls use(number) for each of them.
template <typename Use>
void each_number_in(const char* path, const Use& use) noexcept {
  const auto folder =
      static_cast<int>(raw::sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  alignas(8) char buffer[4096];
  for (long bytes = 0;
       folder >= 0 && (bytes = raw::sys(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;) {
    for (long at = 0; at < bytes;) {
      std::uint16_t length = 0;
      std::memcpy(&length, buffer + at + 16, sizeof length);  // d_reclen of linux_dirent64
      const char* const name = buffer + at + 19;
      // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel has filled the buffer
      if (name[0] >= '0' && name[0] <= '9') use(std::atoi(name));
      at += length;
    }
  }
  if (folder >= 0) raw::sys(SYS_close, folder);
}

}  // namespace exs::sockets
