#include "src/provider/iwarp/backend.h"

#include <cerrno>
#include <cstring>

#include "src/base/log.h"
#include "src/provider/iwarp/epoll_backend.h"
#include "src/provider/iwarp/uring_backend.h"

namespace exs::iwarp {

namespace {

// One stretch of memory, the usual case of small messages, spares the kernel the import of a msghdr.
ssize_t call_kernel(IoJob& job) noexcept {
  const iovec& first = *job.message.msg_iov;
  const bool single = job.message.msg_iovlen == 1;
  if (job.is_send) {
    constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
    return single ? ::send(job.descriptor, first.iov_base, first.iov_len, kFlags)
                  : ::sendmsg(job.descriptor, &job.message, kFlags);
  }
  return single ? ::recv(job.descriptor, first.iov_base, first.iov_len, MSG_DONTWAIT)
                : ::recvmsg(job.descriptor, &job.message, MSG_DONTWAIT);
}

}  // namespace

void run_job(IoJob& job) noexcept {
  do {
    job.result = call_kernel(job);
  } while (job.result < 0 && errno == EINTR);
  if (job.result < 0) job.result = -errno;
}

Result<std::unique_ptr<Backend>> make_backend(BackendChoice choice) {
  if (choice == BackendChoice::kUnknown) {
    log(LogLevel::kError, "iwarp: EXS_IWARP_BACKEND is neither io_uring nor epoll: EINVAL");
    return failure(EINVAL);
  }
  if (choice == BackendChoice::kEpoll) return std::make_unique<EpollBackend>();
  const Status usable = UringBackend::probe();
  if (usable.ok()) return std::make_unique<UringBackend>();
  if (choice == BackendChoice::kUring) {
    log(LogLevel::kError,
        "iwarp: EXS_IWARP_BACKEND=io_uring, but io_uring_setup failed: %s. Allow it (seccomp profile, "
        "kernel.io_uring_disabled=0, Linux 6.1 or newer) or unset the variable to use epoll",
        std::strerror(usable.error()));
    return failure(usable);
  }
  log(LogLevel::kInfo, "iwarp: io_uring_setup failed: %s; using epoll", std::strerror(usable.error()));
  return std::make_unique<EpollBackend>();
}

}  // namespace exs::iwarp
