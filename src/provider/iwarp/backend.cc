// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/backend.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/kernel.h"
#include "base/unique_fd.h"

namespace exs::iwarp {

namespace {

constexpr int kSendFlags = MSG_DONTWAIT | MSG_NOSIGNAL;

// One piece of memory, the usual case of small messages, spares the kernel the import of a msghdr.
ssize_t call_kernel(IoJob& job) noexcept {
  const iovec& first = *job.message.msg_iov;
  const bool single = job.message.msg_iovlen == 1;
  if (job.is_send) {
    return single ? kernel::send(job.descriptor, first.iov_base, first.iov_len, kSendFlags)
                  : kernel::sendmsg(job.descriptor, &job.message, kSendFlags);
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

ssize_t send_bytes(int descriptor, std::span<const std::byte> bytes) noexcept {
  ssize_t sent = 0;
  do {
    sent = kernel::send(descriptor, bytes.data(), bytes.size(), kSendFlags);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : sent;
}

void run_job(IoJob& job) noexcept {
  do {
    job.result = call_kernel(job);
  } while (job.result < 0 && errno == EINTR);
  if (job.result < 0) job.result = -errno;
}

}  // namespace exs::iwarp
