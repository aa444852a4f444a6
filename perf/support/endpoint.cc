// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/endpoint.h"

#include <algorithm>
#include <cerrno>

#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/sockets.h"

namespace perf {
namespace {

int mode_of(Wait wait) {
  switch (wait) {
    case Wait::adaptive: return EXS_WAIT_ADAPTIVE;
    case Wait::notify: return EXS_WAIT_NOTIFY;
    case Wait::busy: return EXS_WAIT_BUSY_POLL;
  }
  return EXS_WAIT_ADAPTIVE;
}

}  // namespace

Queue::Queue(int depth, Wait wait)
    : queue_(tools::try_to("cannot create a queue of " + std::to_string(depth) + " events",
                           [depth] { return exs::cpp::Queue(depth); })) {
  wait_like(wait);
}

void Queue::wait_like(Wait wait) {
  tools::try_to("cannot set the wait mode", [&] { queue_.set(EXS_QATTR_WAIT, mode_of(wait)); });
}

std::size_t Queue::take(std::span<exs_event_t> out, std::int64_t timeout_ns) {
  for (tools::Patience patience(timeout_ns);; patience.note_signal()) {
    const int taken = exs_qwait(handle(), out.data(), static_cast<int>(out.size()), 1, patience.left_ns());
    if (taken >= 0) return static_cast<std::size_t>(taken);
    if (errno != EINTR) tools::fail("cannot wait for events", errno);
  }
}

exs_event_t Queue::expect(int type, const std::string& what, std::int64_t timeout_ns) {
  exs_event_t event{};
  if (take({&event, 1}, timeout_ns) == 0) tools::fail(what, ETIMEDOUT);
  if (event.exs_evt_errno != 0) tools::fail(what, event.exs_evt_errno);
  if (event.exs_evt_type != type)
    throw tools::Failure(what + ": unexpected " + exs_evtname(event.exs_evt_type));
  return event;
}

ConnectionOptions server_options(const std::string& provider) {
  return {provider, EXS_SMALL_MAX, EXS_CREDITS_MAX};
}

ConnectionOptions client_options(const std::string& provider, const Job& job, std::uint32_t credits) {
  // Control messages are small messages, too, so the library's default is the least.
  const std::size_t small_max_bytes = traits_of(job.kind).in_small_max
                                          ? std::max<std::size_t>(job.size_bytes, kSmallMaxDefaultBytes)
                                          : kSmallMaxDefaultBytes;
  return {provider, job.kind == Kind::stream ? 0 : small_max_bytes, static_cast<int>(credits)};
}

void fail_post(int socket, const char* call, int error) {
  tools::fail_of(socket, error == EPIPE || error == ENOTCONN ? "the connection broke" : call, error);
}

bool try_send(const Socket& socket, std::span<const std::byte> message, int flags, const Queue& queue,
              exs_mhandle_t region) {
  if (exs_send(socket.number(), message.data(), message.size(), flags, queue.handle(), nullptr, region) ==
      0) {
    return true;
  }
  if (errno == EAGAIN) return false;
  fail_post(socket.number(), "exs_send", errno);
}

bool try_recv(const Socket& socket, std::span<std::byte> buffer, const Queue& queue, exs_mhandle_t region) {
  if (exs_recv(socket.number(), buffer.data(), buffer.size(), 0, queue.handle(), nullptr, region) == 0) {
    return true;
  }
  if (errno == EAGAIN) return false;
  fail_post(socket.number(), "exs_recv", errno);
}

void send(const Socket& socket, std::span<const std::byte> message, int flags, const Queue& queue,
          exs_mhandle_t region) {
  if (!try_send(socket, message, flags, queue, region)) tools::fail("exs_send", EAGAIN);
}

void recv(const Socket& socket, std::span<std::byte> buffer, const Queue& queue, exs_mhandle_t region) {
  if (!try_recv(socket, buffer, queue, region)) tools::fail("exs_recv", EAGAIN);
}

std::span<const std::byte> received(const exs_event_t& event) {
  const exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
  return {static_cast<const std::byte*>(transfer.exs_evt_buf), transfer.exs_evt_length};
}

}  // namespace perf
