#include "src/provider/iwarp/backend.h"

#include <cerrno>
#include <cstring>

#include "src/base/log.h"
#include "src/provider/iwarp/epoll_backend.h"
#include "src/provider/iwarp/uring_backend.h"

namespace exs::iwarp {

void run_job(IoJob& job) noexcept {
  do {
    job.result = job.is_send ? ::sendmsg(job.descriptor, &job.message, MSG_DONTWAIT | MSG_NOSIGNAL)
                             : ::recvmsg(job.descriptor, &job.message, MSG_DONTWAIT);
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
