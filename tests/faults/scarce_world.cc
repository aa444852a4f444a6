// SPDX-License-Identifier: BSD-2-Clause
#include "tests/faults/scarce_world.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace exs::test {
namespace {

constexpr int kLingerMs = 200;
constexpr int kClosesMax = 10'000;  // more than any shortage lasts

}  // namespace

Report* report = nullptr;

void violation(const std::string& what) {
  if (report->violation[0] == '\0')
    std::snprintf(report->violation, sizeof report->violation, "%s", what.c_str());
}

void World::refused(Operation& operation) {
  operation.is_open = false;
  if (errno != ENOMEM && errno != EAGAIN && errno != ENOTCONN && errno != EPIPE)
    violation(std::string(exs_evtname(operation.type)) + " refused with " + errno_name(errno));
}

void World::await_all(int looks, std::size_t but) {
  connect_failed_ = false;
  for (; looks > 0 && open() > but && !connect_failed_; --looks) {
    exs_event_t event{};
    const int got = counted([&] { return exs_qwait(queue, &event, 1, 1, 20'000'000); });
    if (got == 1) take(event);
    if (got < 0 && errno != ENOMEM && errno != EINTR) violation("exs_qwait: " + errno_name(errno));
  }
}

std::size_t World::open() const {
  return static_cast<std::size_t>(std::count_if(
      operations_.begin(), operations_.end(), [](const Operation& operation) { return operation.is_open; }));
}

int World::keep(int socket) {
  if (socket >= 0) sockets_[sockets_used_++] = socket;
  return socket;
}

// A close that finds no memory to begin with may be called again.
void World::close_all() {
  for (std::size_t i = 0; i < sockets_used_; ++i) {
    int error = ENOMEM;
    for (int tries = 0; error == ENOMEM && tries < kClosesMax; ++tries)
      error = counted([&] { return exs_close(sockets_[i]); }) == 0 ? 0 : errno;
    if (error != 0 && error != ETIMEDOUT && error != EBADF) violation("exs_close: " + errno_name(error));
  }
  sockets_used_ = 0;
}

void World::check_nothing_is_used() {
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  if (::sigismember(&blocked, SIGUSR1) != 0) violation("a call has left signals blocked");
  if (library_has_ended) return;
  if (open() > 0) violation("an operation has had no event");
  if (pool != EXS_PHANDLE_INVALID && exs_pool_delete(pool) != 0) violation("the pool is in use");
  if (attribute(queue, EXS_QATTR_RESERVED_SLOTS) != 0) violation("slots of the queue are in use");
  if (exs_qdelete(queue) != 0) violation("the queue is in use");
  if (exs_mderegister(memory.handle(), 0) != 0) violation("the region is in use");
}

void World::take(const exs_event_t& event) {
  if ((event.exs_evt_flags & EXS_EVF_MORE) != 0) return take_one_of_many(event);
  auto* const operation = static_cast<Operation*>(event.exs_evt_ahandle);
  if (operation == nullptr) return;
  if (!operation->is_open || operation->type != event.exs_evt_type)
    violation("an event of nothing that is open");
  operation->is_open = false;
  connect_failed_ = event.exs_evt_type == EXS_EVT_CONNECT && event.exs_evt_errno != 0;
  if (event.exs_evt_type == EXS_EVT_ACCEPT && event.exs_evt_errno == 0)
    right = keep(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
}

void World::take_one_of_many(const exs_event_t& event) {
  if (event.exs_evt_type == EXS_EVT_RECV)
    counted([&] { return exs_pool_return(pool, event.exs_evt_union.exs_evt_xfer.exs_evt_buf); });
  if (event.exs_evt_type == EXS_EVT_ACCEPT && event.exs_evt_errno == 0)
    right = keep(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
}

void World::accept(int flags) {
  post(EXS_EVT_ACCEPT,
       [&](exs_ahandle_t handle) { return exs_accept(listener, nullptr, flags, queue, handle); });
}

void World::connect(int type, int accept_flags, int limit_ms) {
  listener = keep(counted([&] { return exs_socket(AF_INET, type, 0); }));
  if (listener < 0) return;
  set_option(listener, EXS_SO_LINGER_MS, kLingerMs);
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  if (counted([&] { return exs_bind(listener, generic(address), length); }) != 0) return;
  if (counted([&] { return exs_listen(listener, 8); }) != 0) return;
  exs_getsockname(listener, generic(address), &length);
  left = keep(counted([&] { return exs_socket(AF_INET, type, 0); }));
  if (left < 0) return;
  set_option(left, EXS_SO_LINGER_MS, kLingerMs);
  set_option(left, EXS_SO_CONNECT_TIMEOUT_MS, limit_ms);
  accept(accept_flags);
  post(EXS_EVT_CONNECT, [&](exs_ahandle_t handle) {
    return exs_connect(left, generic(address), sizeof address, 0, queue, handle);
  });
  await_all(limit_ms / 20 + 5, accept_flags == EXS_MULTISHOT ? 1 : 0);
}

}  // namespace exs::test
