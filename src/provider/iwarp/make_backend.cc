// Which backend a port gets: the wished one, or the best that the kernel allows.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstring>

#include "src/log/log.h"
#include "src/provider/iwarp/syscall_backend.h"
#include "src/provider/iwarp/uring_backend.h"

namespace exs::iwarp {

Result<std::unique_ptr<Backend>> make_backend(BackendChoice choice) {
  if (choice == BackendChoice::kUnknown) {
    return failure(fault(LogLevel::kError, EINVAL, "iwarp: EXS_IWARP_BACKEND is neither io_uring nor epoll"));
  }
  if (choice == BackendChoice::kEpoll) {
    return std::make_unique<SyscallBackend>(
        Reason::make(ReasonCode::kEpollChosen, "EXS_IWARP_BACKEND=epoll"));
  }
  const Status usable = UringBackend::probe();
  if (usable.ok()) return std::make_unique<UringBackend>();
  if (choice == BackendChoice::kUring) {
    log(LogLevel::kError,
        "iwarp: EXS_IWARP_BACKEND=io_uring, but io_uring_setup failed: {}. Allow it (seccomp profile, "
        "kernel.io_uring_disabled=0, Linux 6.1 or newer) or unset the variable to use epoll",
        std::strerror(usable.error()));
    // The program locks all its memory, up to a limit. By EAGAIN exs means a full queue.
    return failure(usable == Status(EAGAIN) ? Status(ENOMEM) : usable);
  }
  log(LogLevel::kInfo, "iwarp: io_uring_setup failed: {}; using epoll", std::strerror(usable.error()));
  return std::make_unique<SyscallBackend>(no_io_uring("io_uring_setup", usable.error()));
}

}  // namespace exs::iwarp
