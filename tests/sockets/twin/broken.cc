// A library with deliberate faults, preloaded to test that sockets-twin finds them. TWIN_BREAK selects the
// fault; it happens at a certain call of each process.
// SPDX-License-Identifier: BSD-2-Clause
#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kAtCall = 3;

bool is_broken(const char* what) {
  const char* const kind = std::getenv("TWIN_BREAK");
  return kind != nullptr && std::strcmp(kind, what) == 0;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t recv(int fd, void* buffer, size_t length, int flags) {
  static const auto real = next<ssize_t (*)(int, void*, size_t, int)>("recv");
  static int received = 0;
  static int refused = 0;
  if (is_broken("lost-byte") && (flags & (MSG_PEEK | MSG_OOB)) == 0 && length > 0 && received == kAtCall) {
    char lost = 0;
    if (real(fd, &lost, 1, MSG_DONTWAIT) == 1) ++received;
  }
  const ssize_t result = real(fd, buffer, length, flags);
  if (result > 0 && ++received == kAtCall && is_broken("wrong-byte"))
    static_cast<unsigned char*>(buffer)[result - 1] ^= 1U;
  if (result < 0 && ++refused == kAtCall && is_broken("errno")) errno = EINTR;
  return result;
}

extern "C" int poll(pollfd* polled, nfds_t count, int timeout_ms) {
  static const auto real = next<int (*)(pollfd*, nfds_t, int)>("poll");
  const int ready = real(polled, count, timeout_ms);
  if (ready <= 0 || !is_broken("poll")) return ready;
  int left = 0;
  for (nfds_t i = 0; i < count; ++i) {
    polled[i].revents = static_cast<short>(polled[i].revents & ~POLLIN);
    left += polled[i].revents != 0;
  }
  return left;
}

extern "C" ssize_t send(int fd, const void* buffer, size_t length, int flags) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, int)>("send");
  // A SIGPIPE is missing.
  if (is_broken("signal")) flags |= MSG_NOSIGNAL;
  return real(fd, buffer, length, flags);
}
