// Files in memory that other processes may map.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/mman.h>

#include <cerrno>

#include "base/kernel.h"
#include "base/unique_fd.h"

namespace exs {

// A file that may be sealed. Not valid: errno says why. If vm.memfd_noexec is 2, only memory without execution is available. Kernels
// before 6.3 do not know the flag.
inline UniqueFd create_memory_file(const char* name) noexcept {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  constexpr unsigned kNoExecSeal = 8;  // MFD_NOEXEC_SEAL
  const int descriptor = kernel::memfd_create(name, kFlags | kNoExecSeal);
  return UniqueFd(descriptor < 0 && errno == EINVAL ? kernel::memfd_create(name, kFlags) : descriptor);
}

}  // namespace exs
