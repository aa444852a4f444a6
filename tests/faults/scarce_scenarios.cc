// SPDX-License-Identifier: BSD-2-Clause
#include "tests/faults/scarce_scenarios.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace exs::test {
namespace {

void send(World& w, std::size_t bytes, int flags = 0) {
  w.post(EXS_EVT_SEND, [&](exs_ahandle_t handle) {
    return exs_send(w.left, w.memory.at(), bytes, flags, w.queue, handle, w.memory.handle());
  });
}

void receive(World& w, std::size_t bytes, int flags = 0) {
  w.post(EXS_EVT_RECV, [&](exs_ahandle_t handle) {
    return exs_recv(w.right, w.memory.at(2 * kLargeBytes), bytes, flags, w.queue, handle, w.memory.handle());
  });
}

void exchange(World& w) {
  for (const std::size_t bytes : {kSmallBytes, kLargeBytes}) {
    receive(w, bytes);
    send(w, bytes);
    send(w, bytes);  // before its receive
    w.await_all(3);
    receive(w, bytes);
    w.await_all(10);
  }
}

void send_vectors(World& w) {
  static exs_iovec_t pieces[2][3];
  static exs_msghdr_t messages[2];
  for (int end = 0; end < 2; ++end) {
    for (int i = 0; i < 3; ++i)
      pieces[end][i] = {w.memory.at((end * 2 + 0U) * kLargeBytes + static_cast<std::size_t>(i) * 50'000),
                        40'000, i == 1 ? EXS_MHANDLE_UNREGISTERED : w.memory.handle(), 0};
    messages[end] = {};
    messages[end].msg_iov = pieces[end];
    messages[end].msg_iovlen = 3;
  }
  w.post(EXS_EVT_RECVMSG,
         [&](exs_ahandle_t handle) { return exs_recvmsg(w.right, &messages[1], 0, w.queue, handle); });
  w.post(EXS_EVT_SENDMSG,
         [&](exs_ahandle_t handle) { return exs_sendmsg(w.left, &messages[0], 0, w.queue, handle); });
  w.await_all(10);
}

void send_unregistered(World& w) {
  for (const std::size_t bytes : {kSmallBytes, kLargeBytes}) {
    w.post(EXS_EVT_RECV, [&](exs_ahandle_t handle) {
      return exs_recv(w.right, w.memory.at(2 * kLargeBytes), bytes, 0, w.queue, handle,
                      EXS_MHANDLE_UNREGISTERED);
    });
    w.post(EXS_EVT_SEND, [&](exs_ahandle_t handle) {
      return exs_send(w.left, w.memory.at(), bytes, 0, w.queue, handle, EXS_MHANDLE_UNREGISTERED);
    });
    w.await_all(10);
  }
}

void send_file(World& w) {
  static exs_xferelem_t element{};
  static exs_xferfile_t file{};
  const int descriptor = ::memfd_create("exs test", MFD_CLOEXEC);
  if (::ftruncate(descriptor, static_cast<off_t>(kLargeBytes)) != 0) std::abort();
  element.type = EXS_FDVEC;
  element.u.fdv = {descriptor, 0, 0, kLargeBytes};
  file = {&element, 1, 0};
  receive(w, kLargeBytes);
  w.post(EXS_EVT_SENDFILE,
         [&](exs_ahandle_t handle) { return exs_sendfile(w.left, &file, 0, w.queue, handle); });
  w.await_all(10);
}

void use_windows(World& w) {
  send(w, kLargeBytes, EXS_PERSISTENT | EXS_NOTIFY);
  w.post(EXS_EVT_RECV, [&](exs_ahandle_t handle) {
    return exs_recv_offset(w.right, w.memory.at(2 * kLargeBytes), 1000, 0, w.queue, handle, w.memory.handle(),
                           500);
  });
  w.await_all(3);
  counted([&] { return exs_cancel(w.left, nullptr, EXS_CAF_FILDES); });
  w.await_all(10);
  receive(w, kLargeBytes, EXS_PERSISTENT);
  w.post(EXS_EVT_SEND, [&](exs_ahandle_t handle) {
    return exs_send_offset(w.left, w.memory.at(), 1000, 0, w.queue, handle, w.memory.handle(), 500);
  });
  w.await_all(3);
  counted([&] { return exs_cancel(w.right, nullptr, EXS_CAF_FILDES); });
  w.await_all(10);
}

void poll_and_cancel(World& w) {
  for (const int socket : {w.left, w.right}) {
    w.post(EXS_EVT_POLL, [&](exs_ahandle_t handle) {
      const exs_pollfd_t entry{socket, EXS_POLLIN, handle};
      return exs_poll(&entry, 1, 0, w.queue) == 1 ? 0 : -1;
    });
  }
  const exs_timeout_t limit{10'000'000, EXS_TIMEOUT_CANCEL, w.queue, nullptr};
  counted([&] { return exs_setsockopt(w.right, SOL_EXS, SO_ASYNC_RECV_TIMEOUT, &limit, sizeof limit); });
  receive(w, kSmallBytes);
  w.await_all(5);
  for (int i = 0; i < 3; ++i) send(w, kLargeBytes);
  counted([&] { return exs_cancel(w.left, nullptr, EXS_CAF_FILDES); });
  w.await_all(10);
}

void receive_pooled(World& w) {
  w.pool = counted(
      [&] { return exs_pool_create(w.memory.at(2 * kLargeBytes), kLargeBytes, 2, w.memory.handle()); });
  if (w.pool < 0) return;
  w.post(EXS_EVT_RECV,
         [&](exs_ahandle_t handle) { return exs_recv_pooled(w.right, w.pool, 0, w.queue, handle); });
  for (int i = 0; i < 4; ++i) send(w, kSmallBytes);
  for (int i = 0; i < 4; ++i) send(w, kLargeBytes);
  w.await_all(10);
}

void end_in_every_way(World& w) {
  receive(w, kSmallBytes);
  w.post(EXS_EVT_SHUTDOWN,
         [&](exs_ahandle_t handle) { return exs_shutdown_async(w.left, SHUT_WR, w.queue, handle); });
  w.await_all(5);
  receive(w, kSmallBytes);
  w.post(EXS_EVT_CLOSE, [&](exs_ahandle_t handle) { return exs_close_async(w.right, 0, w.queue, handle); });
  w.await_all(20);
}

// A listening socket and a connection of the kernel, which the library adopts.
void use_kernel_sockets(World& w) {
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  w.listener = w.keep(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  w.left = w.keep(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(w.listener, generic(address), length) != 0 || ::listen(w.listener, 8) != 0 ||
      ::getsockname(w.listener, generic(address), &length) != 0 ||
      ::connect(w.left, generic(address), length) != 0)
    std::abort();
  w.accept();
  w.await_all(10);
  if (w.right < 0) return;
  exchange(w);
  poll_and_cancel(w);
  end_in_every_way(w);
}

// A persistent send with slots, which the peer reads from afar.
void read_snapshot(World& w) {
  constexpr std::size_t kSlotBytes = 1000;
  auto* const slots = reinterpret_cast<exs_slots_t*>(w.memory.at());
  exs_slots_init(slots, 3, kSlotBytes);
  exs_slots_begin(slots);
  exs_slots_end(slots);
  w.post(EXS_EVT_SEND, [&](exs_ahandle_t handle) {
    return exs_send(w.left, slots, exs_slots_bytes(3, kSlotBytes), EXS_PERSISTENT, w.queue, handle,
                    w.memory.handle());
  });
  exs_snapshot_t snapshot{};
  for (int i = 0; i < 2; ++i) {
    counted([&] {
      return exs_recv_snapshot(w.right, w.memory.at(2 * kLargeBytes), kSlotBytes, w.memory.handle(), 0, 0,
                               &snapshot, 100'000'000);
    });
  }
  counted([&] { return exs_cancel(w.left, nullptr, EXS_CAF_FILDES); });
  w.await_all(10);
}

// The accept stays until it is cancelled, by the close of its socket at the latest.
void accept_many(World& w) {
  w.connect(SOCK_SEQPACKET, EXS_MULTISHOT);
  counted([&] { return exs_cancel(w.listener, nullptr, EXS_CAF_FILDES); });
  w.await_all(10);
}

// exs_fini ends what is open; it cannot fail.
void end_library(World& w) {
  receive(w, kSmallBytes);
  for (int i = 0; i < 3; ++i) send(w, kLargeBytes);
  counted([] { return exs_fini(); });
  counted([] { return exs_init(EXS_VERSION); });
  w.library_has_ended = true;
}

void register_memory(World& /*w*/) {
  static std::byte bytes[64];
  const exs_mhandle_t region = counted([&] { return exs_mregister(bytes, sizeof bytes, 0); });
  exs_mhandle_t allocated = EXS_MHANDLE_INVALID;
  void* const memory = counted([&] { return exs_alloc(4096, &allocated); });
  const exs_qhandle_t queue = counted([&] { return exs_qcreate(4); });
  if (memory != nullptr && counted([&] { return exs_free(memory); }) != 0) violation("exs_free");
  if (region > 0 && counted([&] { return exs_mderegister(region, 0); }) != 0) violation("exs_mderegister");
  if (queue > 0 && counted([&] { return exs_qdelete(queue); }) != 0) violation("exs_qdelete");
}

void post_events(World& w) {
  const exs_qhandle_t queue = counted([&] { return exs_qcreate(64); });
  if (queue < 0) return;
  int posted = 0;
  for (int i = 0; i < 40; ++i) posted += counted([&] { return exs_qpost(queue, &w, nullptr); }) == 0 ? 1 : 0;
  exs_event_t events[64];
  if (posted > 0 && exs_qdequeue(queue, events, 64, nullptr) != posted)
    violation("a posted event did not come");
  if (counted([&] { return exs_qdelete(queue); }) != 0) violation("exs_qdelete");
}

void connect_message(World& w) {
  w.connect(SOCK_SEQPACKET);
}
void connect_stream(World& w) {
  w.connect(SOCK_STREAM);
}

const Scenario kScenarios[] = {
    {"registering", SOCK_SEQPACKET, register_memory, false},
    {"posted events", SOCK_SEQPACKET, post_events, false},
    {"connect", SOCK_SEQPACKET, connect_message, false},
    {"connect of a stream", SOCK_STREAM, connect_stream, false},
    {"messages", SOCK_SEQPACKET, exchange},
    {"stream", SOCK_STREAM, exchange},
    {"vectors", SOCK_SEQPACKET, send_vectors},
    {"unregistered", SOCK_SEQPACKET, send_unregistered},
    {"file", SOCK_SEQPACKET, send_file},
    {"windows", SOCK_SEQPACKET, use_windows},
    {"poll and cancel", SOCK_SEQPACKET, poll_and_cancel},
    {"pool", SOCK_SEQPACKET, receive_pooled},
    {"ends", SOCK_SEQPACKET, end_in_every_way},
    {"kernel sockets", SOCK_STREAM, use_kernel_sockets, false},
    {"snapshots", SOCK_SEQPACKET, read_snapshot},
    {"accepts that stay", SOCK_SEQPACKET, accept_many, false},
    {"exs_fini", SOCK_SEQPACKET, end_library},
};

}  // namespace

std::span<const Scenario> scarce_scenarios() {
  return kScenarios;
}

}  // namespace exs::test
