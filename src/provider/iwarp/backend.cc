// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/backend.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/kernel.h"
#include "base/unique_fd.h"
#include "src/log/log.h"
#include "src/provider/iwarp/syscall_backend.h"
#include "src/provider/iwarp/uring_backend.h"

namespace exs::iwarp {

namespace {

// One piece of memory, the usual case of small messages, spares the kernel the import of a msghdr.
ssize_t call_kernel(IoJob& job) noexcept {
  const iovec& first = *job.message.msg_iov;
  const bool single = job.message.msg_iovlen == 1;
  if (job.is_send) {
    constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
    return single ? kernel::send(job.descriptor, first.iov_base, first.iov_len, kFlags)
                  : kernel::sendmsg(job.descriptor, &job.message, kFlags);
  }
  return single ? kernel::recv(job.descriptor, first.iov_base, first.iov_len, MSG_DONTWAIT)
                : kernel::recvmsg(job.descriptor, &job.message, MSG_DONTWAIT);
}

// 0: not set, or a kernel without that setting.
char io_uring_disabled() noexcept {
  const UniqueFd file(kernel::open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC));
  char digit = '0';
  if (!file.valid() || kernel::read(file.get(), &digit, 1) != 1) return '0';
  return digit;
}

}  // namespace

Reason no_io_uring(const char* call, int error) {
  const char disabled = io_uring_disabled();
  if (error == EPERM && disabled != '0') {
    return Reason::make(ReasonCode::kNoIoUring, "%s: %s (kernel.io_uring_disabled=%c); epoll instead", call,
                        std::strerror(error), disabled);
  }
  return Reason::make(ReasonCode::kNoIoUring, "%s: %s; epoll instead", call, std::strerror(error));
}

void run_job(IoJob& job) noexcept {
  do {
    job.result = call_kernel(job);
  } while (job.result < 0 && errno == EINTR);
  if (job.result < 0) job.result = -errno;
}

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
