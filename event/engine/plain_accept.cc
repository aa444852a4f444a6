// SPDX-License-Identifier: BSD-2-Clause
#include "event/engine/plain_accept.h"

#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "base/kernel.h"
#include "src/log/log.h"

namespace exs {
namespace {

constexpr unsigned kRingEntries = 2;
enum : std::uint64_t { kAcceptEntry = 1, kCancelEntry = 2 };

// Opens the ring on a thread of its own. The kernel takes a ring apart later and then interrupts the thread
// that made it. That thread's epoll_wait(2) would end with EINTR although no signal came.
int open_ring(io_uring& ring) {
  int outcome = 0;
  try {
    std::thread([&] { outcome = io_uring_queue_init(kRingEntries, &ring, 0); }).join();
  } catch (const std::system_error&) {
    outcome = -EAGAIN;
  }
  return outcome;
}

bool is_readable(int descriptor) {
  pollfd asked{descriptor, POLLIN, 0};
  return kernel::poll(&asked, 1, 0) > 0;
}

}  // namespace

PlainAccept::PlainAccept(bool ring_allowed) : ring_allowed_(ring_allowed) {}

PlainAccept::~PlainAccept() {
  if (ring_ != nullptr) io_uring_queue_exit(ring_.get());
}

Result<int> PlainAccept::accept(int listening) {
  const int mode = kernel::fcntl(listening, F_GETFL);
  if (mode < 0) return failure(errno);
  const bool may_wait = (mode & O_NONBLOCK) == 0;
  if (may_wait && ring_is_there()) return accept_through_ring(listening);
  if (may_wait && !is_readable(listening)) return failure(EAGAIN);
  const int accepted = kernel::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0) return failure(errno);
  return accepted;
}

bool PlainAccept::ring_is_there() {
  if (ring_ != nullptr || !ring_allowed_) return ring_ != nullptr;
  auto ring = std::make_unique<io_uring>();
  const int outcome = open_ring(*ring);
  if (outcome >= 0) {
    ring_ = std::move(ring);
    return true;
  }
  ring_allowed_ = false;
  log(LogLevel::kInfo,
      "io_uring_setup failed: {}; accepting from blocking sockets with accept4, which may wait when "
      "others accept from them too: make them non-blocking",
      std::strerror(-outcome));
  return false;
}

// The kernel first tries without waiting. Without a connection it would wait in the background, so the
// request is cancelled and does not outlive this call.
Result<int> PlainAccept::accept_through_ring(int listening) {
  io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
  EXS_CHECK(entry != nullptr);  // the ring is empty between calls
  io_uring_prep_accept(entry, listening, nullptr, nullptr, SOCK_CLOEXEC);
  io_uring_sqe_set_data64(entry, kAcceptEntry);
  io_uring_submit(ring_.get());
  int result = 0;
  while (!reap(result)) {
    entry = io_uring_get_sqe(ring_.get());
    if (entry != nullptr) {
      io_uring_prep_cancel64(entry, kAcceptEntry, 0);
      io_uring_sqe_set_data64(entry, kCancelEntry);
    }
    io_uring_submit_and_wait(ring_.get(), 1);
  }
  if (result == -ECANCELED) return failure(EAGAIN);
  if (result < 0) return failure(-result);
  return result;
}

bool PlainAccept::reap(int& result) {
  bool done = false;
  io_uring_cqe* completion = nullptr;
  while (io_uring_peek_cqe(ring_.get(), &completion) == 0) {
    if (io_uring_cqe_get_data64(completion) == kAcceptEntry) {
      result = completion->res;
      done = true;
    }
    io_uring_cqe_seen(ring_.get(), completion);
  }
  return done;
}

}  // namespace exs
