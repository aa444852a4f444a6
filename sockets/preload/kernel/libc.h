// The C library's functions behind ours. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>

namespace exs::sockets {

// X(result, name, parameters)
#define EXS_LIBC_FUNCTIONS(X)                                                         \
  X(int, listen, (int, int))                                                          \
  X(int, accept, (int, sockaddr*, socklen_t*))                                        \
  X(int, accept4, (int, sockaddr*, socklen_t*, int))                                  \
  X(int, connect, (int, const sockaddr*, socklen_t))                                  \
  X(int, shutdown, (int, int))                                                        \
  X(int, getsockopt, (int, int, int, void*, socklen_t*))                              \
  X(int, setsockopt, (int, int, int, const void*, socklen_t))                         \
  X(int, socket, (int, int, int))                                                     \
  X(int, socketpair, (int, int, int, int*))                                           \
  X(int, pipe, (int*))                                                                \
  X(int, pipe2, (int*, int))                                                          \
  X(int, eventfd, (unsigned, int))                                                    \
  X(int, creat, (const char*, mode_t))                                                \
  X(int, creat64, (const char*, mode_t))                                              \
  X(int, open, (const char*, int, ...))                                               \
  X(int, open64, (const char*, int, ...))                                             \
  X(int, openat, (int, const char*, int, ...))                                        \
  X(int, openat64, (int, const char*, int, ...))                                      \
  X(ssize_t, read, (int, void*, size_t))                                              \
  X(ssize_t, readv, (int, const iovec*, int))                                         \
  X(ssize_t, preadv2, (int, const iovec*, int, off_t, int))                           \
  X(ssize_t, preadv64v2, (int, const iovec*, int, off64_t, int))                      \
  X(ssize_t, recv, (int, void*, size_t, int))                                         \
  X(ssize_t, recvfrom, (int, void*, size_t, int, sockaddr*, socklen_t*))              \
  X(ssize_t, recvmsg, (int, msghdr*, int))                                            \
  X(int, recvmmsg, (int, mmsghdr*, unsigned, int, timespec*))                         \
  X(ssize_t, write, (int, const void*, size_t))                                       \
  X(ssize_t, writev, (int, const iovec*, int))                                        \
  X(ssize_t, pwritev2, (int, const iovec*, int, off_t, int))                          \
  X(ssize_t, pwritev64v2, (int, const iovec*, int, off64_t, int))                     \
  X(ssize_t, send, (int, const void*, size_t, int))                                   \
  X(ssize_t, sendto, (int, const void*, size_t, int, const sockaddr*, socklen_t))     \
  X(ssize_t, sendmsg, (int, const msghdr*, int))                                      \
  X(int, sendmmsg, (int, mmsghdr*, unsigned, int))                                    \
  X(ssize_t, sendfile, (int, int, off_t*, size_t))                                    \
  X(ssize_t, sendfile64, (int, int, off64_t*, size_t))                                \
  X(ssize_t, splice, (int, off64_t*, int, off64_t*, size_t, unsigned))                \
  X(int, poll, (pollfd*, nfds_t, int))                                                \
  X(int, ppoll, (pollfd*, nfds_t, const timespec*, const sigset_t*))                  \
  X(int, select, (int, fd_set*, fd_set*, fd_set*, timeval*))                          \
  X(int, pselect, (int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)) \
  X(int, epoll_create, (int))                                                         \
  X(int, epoll_create1, (int))                                                        \
  X(int, epoll_ctl, (int, int, int, epoll_event*))                                    \
  X(int, epoll_wait, (int, epoll_event*, int, int))                                   \
  X(int, epoll_pwait, (int, epoll_event*, int, int, const sigset_t*))                 \
  X(int, epoll_pwait2, (int, epoll_event*, int, const timespec*, const sigset_t*))    \
  X(int, close, (int))                                                                \
  X(int, close_range, (unsigned, unsigned, int))                                      \
  X(void, closefrom, (int))                                                           \
  X(int, dup, (int))                                                                  \
  X(int, dup2, (int, int))                                                            \
  X(int, dup3, (int, int, int))                                                       \
  X(int, fcntl, (int, int, ...))                                                      \
  X(int, fcntl64, (int, int, ...))                                                    \
  X(int, ioctl, (int, unsigned long, ...))                                            \
  X(FILE*, fdopen, (int, const char*))                                                \
  X(int, vdprintf, (int, const char*, va_list))                                       \
  X(pid_t, _Fork, (void))                                                             \
  X(pid_t, fork, (void))                                                              \
  X(int, execve, (const char*, char* const*, char* const*))                           \
  X(int, execvpe, (const char*, char* const*, char* const*))                          \
  X(int, fexecve, (int, char* const*, char* const*))                                  \
  X(int, execveat, (int, const char*, char* const*, char* const*, int))               \
  X(FILE*, popen, (const char*, const char*))                                         \
  X(int, system, (const char*))                                                       \
  X(void, _exit, (int))                                                               \
  X(void, quick_exit, (int))                                                          \
  X(int, sigaction, (int, const struct sigaction*, struct sigaction*))                \
  X(int, prctl, (int, ...))                                                           \
  X(long, syscall, (long, ...))

struct Libc {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration of its arguments
#define EXS_POINTER(result, name, parameters) result(*name) parameters;
  EXS_LIBC_FUNCTIONS(EXS_POINTER)
#undef EXS_POINTER
};

extern Libc g_libc;
extern bool g_libc_known;
// Looks up all of them: in the constructor, or earlier if another library's constructor calls one.
void find_libc() noexcept;

// For functions that are rarely called.
void* find_symbol(const char* name) noexcept;
template <typename Function>
Function find_function(const char* name) noexcept {
  return reinterpret_cast<Function>(find_symbol(name));
}

// Searches a library that the program has loaded. Null: it is not loaded. Never returns our function
// (symbols/loading.cc).
void* find_by_handle(void* handle, const char* name) noexcept;
void* find_in_library(const char* library, const char* name) noexcept;

inline const Libc& libc() noexcept {
  if (__builtin_expect(!g_libc_known, 0)) find_libc();
  return g_libc;
}

}  // namespace exs::sockets
