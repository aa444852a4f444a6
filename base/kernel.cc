// SPDX-License-Identifier: BSD-2-Clause
#include "base/kernel.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

// Builds of another kernel from this file define the call here.
#ifndef EXS_KERNEL_CALL
#define EXS_KERNEL_CALL(name, ...) ::name(__VA_ARGS__)
#endif

namespace exs::kernel {

int socket(int domain, int type, int protocol) noexcept {
  return EXS_KERNEL_CALL(socket, domain, type, protocol);
}

int bind(int descriptor, const sockaddr* address, socklen_t address_bytes) noexcept {
  return EXS_KERNEL_CALL(bind, descriptor, address, address_bytes);
}

int listen(int descriptor, int backlog) noexcept {
  return EXS_KERNEL_CALL(listen, descriptor, backlog);
}

int connect(int descriptor, const sockaddr* peer, socklen_t peer_bytes) noexcept {
  return EXS_KERNEL_CALL(connect, descriptor, peer, peer_bytes);
}

int accept4(int descriptor, sockaddr* peer, socklen_t* peer_bytes, int flags) noexcept {
  return EXS_KERNEL_CALL(accept4, descriptor, peer, peer_bytes, flags);
}

int shutdown(int descriptor, int how) noexcept {
  return EXS_KERNEL_CALL(shutdown, descriptor, how);
}

int getsockname(int descriptor, sockaddr* address, socklen_t* address_bytes) noexcept {
  return EXS_KERNEL_CALL(getsockname, descriptor, address, address_bytes);
}

int getpeername(int descriptor, sockaddr* address, socklen_t* address_bytes) noexcept {
  return EXS_KERNEL_CALL(getpeername, descriptor, address, address_bytes);
}

int bytes_to_read(int descriptor, int* bytes) noexcept {
  return EXS_KERNEL_CALL(ioctl, descriptor, FIONREAD, bytes);
}

int getsockopt(int descriptor, int level, int name, void* value, socklen_t* value_bytes) noexcept {
  return EXS_KERNEL_CALL(getsockopt, descriptor, level, name, value, value_bytes);
}

int setsockopt(int descriptor, int level, int name, const void* value, socklen_t value_bytes) noexcept {
  return EXS_KERNEL_CALL(setsockopt, descriptor, level, name, value, value_bytes);
}

ssize_t send(int descriptor, const void* bytes, std::size_t count, int flags) noexcept {
  return EXS_KERNEL_CALL(send, descriptor, bytes, count, flags);
}

ssize_t recv(int descriptor, void* bytes, std::size_t count, int flags) noexcept {
  return EXS_KERNEL_CALL(recv, descriptor, bytes, count, flags);
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) noexcept {
  return EXS_KERNEL_CALL(sendmsg, descriptor, message, flags);
}

ssize_t recvmsg(int descriptor, msghdr* message, int flags) noexcept {
  return EXS_KERNEL_CALL(recvmsg, descriptor, message, flags);
}

int getifaddrs(ifaddrs** first) noexcept {
  return EXS_KERNEL_CALL(getifaddrs, first);
}

int open(const char* path, int flags, mode_t mode) noexcept {
  return EXS_KERNEL_CALL(open, path, flags, mode);
}

int unlink(const char* path) noexcept {
  return EXS_KERNEL_CALL(unlink, path);
}

int fsync(int descriptor) noexcept {
  return EXS_KERNEL_CALL(fsync, descriptor);
}

int close(int descriptor) noexcept {
  return EXS_KERNEL_CALL(close, descriptor);
}

ssize_t read(int descriptor, void* bytes, std::size_t count) noexcept {
  return EXS_KERNEL_CALL(read, descriptor, bytes, count);
}

ssize_t write(int descriptor, const void* bytes, std::size_t count) noexcept {
  return EXS_KERNEL_CALL(write, descriptor, bytes, count);
}

namespace {

// A SIGPIPE that a write of this thread makes is taken before the program's handler, or its end, sees it. One that was there before stays.
class HeldPipeSignal {
 public:
  HeldPipeSignal() noexcept {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~HeldPipeSignal() {
    const int error = errno;
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  HeldPipeSignal(const HeldPipeSignal&) = delete;
  HeldPipeSignal& operator=(const HeldPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace

ssize_t write_at_once(int descriptor, const void* bytes, std::size_t count) noexcept {
  pollfd watched{descriptor, POLLOUT, 0};
  if (EXS_KERNEL_CALL(poll, &watched, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  const HeldPipeSignal held;
  // Another process may take the room meanwhile. Not all files know the flag, and those that never wait say EAGAIN to it.
  const iovec all{const_cast<void*>(bytes), count};
  const ssize_t written = EXS_KERNEL_CALL(pwritev2, descriptor, &all, 1, -1, RWF_NOWAIT);
  struct stat file {};
  const bool may_wait = written < 0 && errno == EAGAIN && EXS_KERNEL_CALL(fstat, descriptor, &file) == 0 &&
                        !S_ISREG(file.st_mode);
  if (written >= 0 || may_wait) return written;
  return EXS_KERNEL_CALL(write, descriptor, bytes, count);
}

ssize_t pread(int descriptor, void* bytes, std::size_t count, off_t offset) noexcept {
  return EXS_KERNEL_CALL(pread, descriptor, bytes, count, offset);
}

int dup3(int descriptor, int number, int flags) noexcept {
  return EXS_KERNEL_CALL(dup3, descriptor, number, flags);
}

int fcntl(int descriptor, int command, int argument) noexcept {
  return EXS_KERNEL_CALL(fcntl, descriptor, command, argument);
}

int stat(const char* path, struct stat* into) noexcept {
  return EXS_KERNEL_CALL(stat, path, into);
}

int fstat(int descriptor, struct stat* into) noexcept {
  return EXS_KERNEL_CALL(fstat, descriptor, into);
}

int fstatfs(int descriptor, struct statfs* into) noexcept {
  return EXS_KERNEL_CALL(fstatfs, descriptor, into);
}

int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  return EXS_KERNEL_CALL(faccessat, folder, path, mode, flags);
}

ssize_t readlink(const char* path, char* into, std::size_t count) noexcept {
  return EXS_KERNEL_CALL(readlink, path, into, count);
}

int eventfd(unsigned count, int flags) noexcept {
  return EXS_KERNEL_CALL(eventfd, count, flags);
}

int memfd_create(const char* name, unsigned flags) noexcept {
  return EXS_KERNEL_CALL(memfd_create, name, flags);
}

int ftruncate(int descriptor, off_t length) noexcept {
  return EXS_KERNEL_CALL(ftruncate, descriptor, length);
}

int clock_gettime(clockid_t clock, timespec* into) noexcept {
  return EXS_KERNEL_CALL(clock_gettime, clock, into);
}

int epoll_create1(int flags) noexcept {
  return EXS_KERNEL_CALL(epoll_create1, flags);
}

int epoll_ctl(int set, int command, int descriptor, epoll_event* event) noexcept {
  return EXS_KERNEL_CALL(epoll_ctl, set, command, descriptor, event);
}

int epoll_wait(int set, epoll_event* events, int count_max, int timeout_ms) noexcept {
  return EXS_KERNEL_CALL(epoll_wait, set, events, count_max, timeout_ms);
}

int poll(pollfd* watched, unsigned long count, int timeout_ms) noexcept {
  int ready = EXS_KERNEL_CALL(poll, watched, count, timeout_ms);
  while (ready < 0 && errno == EINTR && timeout_ms == 0) ready = EXS_KERNEL_CALL(poll, watched, count, 0);
  return ready;
}

int ppoll(pollfd* watched, unsigned long count, timespec* left, const sigset_t* signals) noexcept {
  constexpr std::size_t kSignalSetBytes = (_NSIG - 1) / 8;  // the kernel's
  return static_cast<int>(
      EXS_KERNEL_CALL(syscall, SYS_ppoll, watched, count, left, signals, kSignalSetBytes));
}

int timerfd_create(int clock, int flags) noexcept {
  return EXS_KERNEL_CALL(timerfd_create, clock, flags);
}

int timerfd_settime(int timer, int flags, const itimerspec* when, itimerspec* before) noexcept {
  return EXS_KERNEL_CALL(timerfd_settime, timer, flags, when, before);
}

int nanosleep(const timespec* time, timespec* left) noexcept {
  return EXS_KERNEL_CALL(nanosleep, time, left);
}

int sched_yield() noexcept {
  return EXS_KERNEL_CALL(sched_yield);
}

void* mmap(void* address, std::size_t count, int protection, int flags, int descriptor,
           off_t offset) noexcept {
  void* const mapped = EXS_KERNEL_CALL(mmap, address, count, protection, flags, descriptor, offset);
  // The program locks all its memory, up to a limit. By EAGAIN exs means a full queue.
  if (mapped == MAP_FAILED && errno == EAGAIN) errno = ENOMEM;
  return mapped;
}

int munmap(void* address, std::size_t count) noexcept {
  return EXS_KERNEL_CALL(munmap, address, count);
}

int madvise(void* address, std::size_t count, int advice) noexcept {
  return EXS_KERNEL_CALL(madvise, address, count, advice);
}

int mprotect(void* address, std::size_t count, int rights) noexcept {
  return EXS_KERNEL_CALL(mprotect, address, count, rights);
}

int munlock(const void* address, std::size_t count) noexcept {
  return EXS_KERNEL_CALL(munlock, address, count);
}

int msync(void* address, std::size_t count, int flags) noexcept {
  return EXS_KERNEL_CALL(msync, address, count, flags);
}

int mincore(void* address, std::size_t count, unsigned char* resident) noexcept {
  return EXS_KERNEL_CALL(mincore, address, count, resident);
}

int membarrier(int command) noexcept {
  return static_cast<int>(EXS_KERNEL_CALL(syscall, SYS_membarrier, command, 0, 0));
}

int futex_add_nothing(std::uint32_t* word) noexcept {
  std::uint32_t nobody_waits = 0;
  return static_cast<int>(EXS_KERNEL_CALL(syscall, SYS_futex, &nobody_waits,
                                          FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, nullptr, word,
                                          FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)));
}

ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long here_count, const iovec* there,
                         unsigned long there_count, unsigned long flags) noexcept {
  return EXS_KERNEL_CALL(process_vm_readv, process, here, here_count, there, there_count, flags);
}

ssize_t process_vm_writev(pid_t process, const iovec* here, unsigned long here_count, const iovec* there,
                          unsigned long there_count, unsigned long flags) noexcept {
  return EXS_KERNEL_CALL(process_vm_writev, process, here, here_count, there, there_count, flags);
}

pid_t getpid() noexcept {
  return EXS_KERNEL_CALL(getpid);
}

uid_t geteuid() noexcept {
  return EXS_KERNEL_CALL(geteuid);
}

int pidfd_open(pid_t process) noexcept {
  return static_cast<int>(EXS_KERNEL_CALL(syscall, SYS_pidfd_open, process, 0));
}

int sigqueue(pid_t process, int signal, sigval value) noexcept {
  return EXS_KERNEL_CALL(sigqueue, process, signal, value);
}

int getrlimit(int resource, rlimit* limit) noexcept {
  return EXS_KERNEL_CALL(getrlimit, static_cast<__rlimit_resource>(resource), limit);
}

int capget(void* header, void* sets) noexcept {
  return static_cast<int>(EXS_KERNEL_CALL(syscall, SYS_capget, header, sets));
}

ssize_t getrandom(void* bytes, std::size_t count, unsigned flags) noexcept {
  return EXS_KERNEL_CALL(getrandom, bytes, count, flags);
}

}  // namespace exs::kernel
