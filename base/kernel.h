// Every call of the library to the kernel, but those that liburing, rdma-core and the thread library make for
// it. Each has the shape and the meaning of its namesake in the C library, errno included.
//
// One place, so that another kernel.cc can stand in its stead: one that fails each call in turn
// (tests/faults), or one that goes past a program's own interposed calls. It is chosen when a program is
// linked; a call costs no test.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

struct epoll_event;
struct ifaddrs;
struct iovec;
struct itimerspec;
struct pollfd;
struct rlimit;
struct stat;
struct statfs;

namespace exs::kernel {

// Sockets.
int socket(int domain, int type, int protocol) noexcept;
int bind(int descriptor, const sockaddr* address, socklen_t address_bytes) noexcept;
int listen(int descriptor, int backlog) noexcept;
int connect(int descriptor, const sockaddr* peer, socklen_t peer_bytes) noexcept;
int accept4(int descriptor, sockaddr* peer, socklen_t* peer_bytes, int flags) noexcept;
int shutdown(int descriptor, int how) noexcept;
int getsockname(int descriptor, sockaddr* address, socklen_t* address_bytes) noexcept;
int getpeername(int descriptor, sockaddr* address, socklen_t* address_bytes) noexcept;
int bytes_to_read(int descriptor, int* bytes) noexcept;  // FIONREAD
int getsockopt(int descriptor, int level, int name, void* value, socklen_t* value_bytes) noexcept;
int setsockopt(int descriptor, int level, int name, const void* value, socklen_t value_bytes) noexcept;
ssize_t send(int descriptor, const void* bytes, std::size_t count, int flags) noexcept;
ssize_t recv(int descriptor, void* bytes, std::size_t count, int flags) noexcept;
ssize_t sendmsg(int descriptor, const msghdr* message, int flags) noexcept;
ssize_t recvmsg(int descriptor, msghdr* message, int flags) noexcept;
int getifaddrs(ifaddrs** first) noexcept;

// Descriptors and files.
// `mode` is that of a file which the call makes.
int open(const char* path, int flags, mode_t mode = 0) noexcept;
int unlink(const char* path) noexcept;
int fsync(int descriptor) noexcept;
int close(int descriptor) noexcept;
ssize_t read(int descriptor, void* bytes, std::size_t count) noexcept;
ssize_t write(int descriptor, const void* bytes, std::size_t count) noexcept;
// Like write, but fails with EAGAIN where write would wait, whatever the descriptor's flags, and makes no SIGPIPE.
ssize_t write_at_once(int descriptor, const void* bytes, std::size_t count) noexcept;
ssize_t pread(int descriptor, void* bytes, std::size_t count, off_t offset) noexcept;
int dup3(int descriptor, int number, int flags) noexcept;
int fcntl(int descriptor, int command, int argument = 0) noexcept;
int stat(const char* path, struct stat* into) noexcept;
int fstat(int descriptor, struct stat* into) noexcept;
int fstatfs(int descriptor, struct statfs* into) noexcept;
int faccessat(int folder, const char* path, int mode, int flags) noexcept;
ssize_t readlink(const char* path, char* into, std::size_t count) noexcept;
int eventfd(unsigned count, int flags) noexcept;
int memfd_create(const char* name, unsigned flags) noexcept;
int ftruncate(int descriptor, off_t length) noexcept;

// Readiness and time. Callers read clocks by clock.h.
int clock_gettime(clockid_t clock, timespec* into) noexcept;
int epoll_create1(int flags) noexcept;
int epoll_ctl(int set, int command, int descriptor, epoll_event* event) noexcept;
int epoll_wait(int set, epoll_event* events, int count_max, int timeout_ms) noexcept;
// Without time to wait it only looks, and a caught signal does not end it.
int poll(pollfd* watched, unsigned long count, int timeout_ms) noexcept;
// Like the kernel's ppoll(2), not the C library's: `left` becomes the remaining time. Null: no limit.
int ppoll(pollfd* watched, unsigned long count, timespec* left, const sigset_t* signals) noexcept;
int timerfd_create(int clock, int flags) noexcept;
int timerfd_settime(int timer, int flags, const itimerspec* when, itimerspec* before) noexcept;
int nanosleep(const timespec* time, timespec* left) noexcept;
int sched_yield() noexcept;

// Memory.
void* mmap(void* address, std::size_t count, int protection, int flags, int descriptor,
           off_t offset) noexcept;
int munmap(void* address, std::size_t count) noexcept;
int madvise(void* address, std::size_t count, int advice) noexcept;
int mprotect(void* address, std::size_t count, int rights) noexcept;
int munlock(const void* address, std::size_t count) noexcept;
int msync(void* address, std::size_t count, int flags) noexcept;
int mincore(void* address, std::size_t count, unsigned char* resident) noexcept;
int membarrier(int command) noexcept;
// Adds nothing to an aligned word, in one step that takes the right to write it: EFAULT without.
int futex_add_nothing(std::uint32_t* word) noexcept;
ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long here_count, const iovec* there,
                         unsigned long there_count, unsigned long flags) noexcept;
ssize_t process_vm_writev(pid_t process, const iovec* here, unsigned long here_count, const iovec* there,
                          unsigned long there_count, unsigned long flags) noexcept;

// Processes and their rights.
pid_t getpid() noexcept;
uid_t geteuid() noexcept;
int pidfd_open(pid_t process) noexcept;
int sigqueue(pid_t process, int signal, sigval value) noexcept;
int getrlimit(int resource, rlimit* limit) noexcept;
// `header` and `sets` as of capget(2).
int capget(void* header, void* sets) noexcept;
ssize_t getrandom(void* bytes, std::size_t count, unsigned flags) noexcept;

}  // namespace exs::kernel
