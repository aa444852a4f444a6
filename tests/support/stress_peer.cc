// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/stress_peer.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <string>

#include "event/engine/shard.h"

namespace exs::test {
namespace {

constexpr int kOpenAccepts = 4;

int send_flags(Random& random) {
  switch (below(random, 64)) {
    case 0: return EXS_PERSISTENT;
    case 1: return EXS_PERSISTENT | EXS_NOTIFY;
    case 2: return EXS_SHUT_WR;
    default: break;
  }
  return (below(random, 4) == 0 ? EXS_NO_IMMEDIATE : 0) | (below(random, 8) == 0 ? MSG_MORE : 0);
}

int receive_flags(Random& random) {
  switch (below(random, 64)) {
    case 0: return EXS_PERSISTENT;
    case 1: return EXS_PERSISTENT | EXS_NOTIFY;
    default: return below(random, 8) == 0 ? MSG_WAITALL : 0;
  }
}

bool is_one_of(int error, std::initializer_list<int> known) {
  return std::find(known.begin(), known.end(), error) != known.end();
}

}  // namespace

std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

StressPeer::StressPeer(std::size_t slots, int type) : type_(type), slots_(slots) {
  queues_[0] = std::make_unique<Queue>(3 * kOperations);
  queues_[1] = std::make_unique<Queue>(kFewSlots);
  pool_ = exs_pool_create(pool_memory_.at(), kBufferBytes, kPoolBuffers, pool_memory_.handle());
}

exs_qhandle_t StressPeer::some_queue(Random& random) {
  return queues_[below(random, queues_.size())]->handle();
}

// ---------------------------------------------------------------- sockets

void StressPeer::limit(Random& random, int socket) {
  const std::uint32_t flags =
      (below(random, 4) > 0 ? EXS_TIMEOUT_CANCEL : 0) | (below(random, 2) == 0 ? EXS_TIMEOUT_ONCE : 0);
  const auto ns = static_cast<std::int64_t>(below(random, kLimitNs) + 1'000'000);
  const exs_timeout_t timeout{below(random, 8) == 0 ? 0 : ns, flags, some_queue(random), nullptr};
  const int option = below(random, 2) == 0 ? SO_ASYNC_SEND_TIMEOUT : SO_ASYNC_RECV_TIMEOUT;
  exs_setsockopt(socket, SOL_EXS, option, &timeout, sizeof timeout);
}

bool StressPeer::limit_both(Random& random, int socket) {
  const exs_timeout_t timeout{kLimitNs, EXS_TIMEOUT_CANCEL, some_queue(random), nullptr};
  return exs_setsockopt(socket, SOL_EXS, SO_ASYNC_SEND_TIMEOUT, &timeout, sizeof timeout) == 0 &&
         exs_setsockopt(socket, SOL_EXS, SO_ASYNC_RECV_TIMEOUT, &timeout, sizeof timeout) == 0;
}

void StressPeer::prepare(Random& random, int socket) {
  set_option(socket, EXS_SO_LINGER_MS, std::array{0, 20, 100, 300}[below(random, 4)]);
  set_option(socket, EXS_SO_CONNECT_TIMEOUT_MS, 500);
  if (below(random, 2) == 0) set_option(socket, EXS_SO_KEEPALIVE_MS, 300);
  if (below(random, 3) == 0)
    exs_fcntl(socket, EXS_F_SET_RECV_CREDITS, static_cast<int>(below(random, 3) + 1));
  for (std::size_t limits = below(random, 3); limits > 0; --limits) limit(random, socket);
}

void StressPeer::occupy(Random& random, std::size_t slot, int socket) {
  slots_[slot].dies_ns = monotonic_ns() + below(random, kLifeNs);
  slots_[slot].is_limited = below(random, 2) == 0 && limit_both(random, socket);
  ++slots_[slot].births;
  slots_[slot].socket = socket;
}

std::size_t StressPeer::empty_slot() const {
  const auto empty =
      std::find_if(slots_.begin(), slots_.end(), [](const ConnectionSlot& slot) { return slot.socket < 0; });
  return static_cast<std::size_t>(empty - slots_.begin());
}

void StressPeer::listen(Random& random) {
  listening_ = exs_socket(AF_INET, type_, 0);
  prepare(random, listening_);
  sockaddr_in address = loopback();
  exs_bind(listening_, generic(address), sizeof address);
  if (exs_listen(listening_, 64) != 0) operations_.violation("cannot listen");
}

std::uint16_t StressPeer::port() const {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  exs_getsockname(listening_, generic(address), &length);
  return address.sin_port;
}

void StressPeer::connect(Random& random, std::size_t slot, std::uint16_t port) {
  const int socket = exs_socket(AF_INET, type_, 0);
  if (socket < 0) return operations_.violation("exs_socket: " + errno_name(errno));
  prepare(random, socket);
  sockaddr_in address = loopback(ntohs(port));
  post(EXS_EVT_CONNECT, [&](exs_ahandle_t handle, std::byte*) {
    return exs_connect(socket, generic(address), sizeof address, 0, some_queue(random), handle);
  });
  occupy(random, slot, socket);
}

void StressPeer::tend(Random& random, std::uint64_t now_ns) {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].socket >= 0 && slots_[slot].dies_ns < now_ns) close_one(random, slot);
  }
  std::vector<int> newcomers;
  {
    const std::lock_guard guard(mutex_);
    newcomers.swap(newcomers_);
  }
  for (const int socket : newcomers) {
    const std::size_t slot = empty_slot();
    if (slot < slots_.size()) {
      occupy(random, slot, socket);
    } else {
      exs_close(socket);
    }
  }
  while (listening_ >= 0 && open_accepts_ < kOpenAccepts) {
    accept(random);
    if (below(random, 8) == 0) poll(random, listening_, kNoBoundNs);
    if (below(random, 16) == 0) cancel(random, listening_);
  }
}

// An accept that stays has no bound: it ends with its socket, or when it is cancelled.
void StressPeer::accept(Random& random) {
  ++open_accepts_;
  const int flags = below(random, 4) == 0 ? EXS_MULTISHOT : 0;
  const auto ticket =
      post_within(flags == 0 ? kBoundNs : kNoBoundNs, EXS_EVT_ACCEPT, [&](exs_ahandle_t handle, std::byte*) {
        return exs_accept(listening_, nullptr, flags, some_queue(random), handle);
      });
  if (!ticket) --open_accepts_;
}

void StressPeer::close_one(Random& random, std::size_t slot) {
  const int socket = slots_[slot].socket.exchange(-1);
  if (socket < 0) return;
  ++closes_;
  switch (below(random, 4)) {
    case 0: set_option(socket, EXS_SO_LINGER_MS, 0); [[fallthrough]];
    case 1:
      if (exs_close(socket) != 0 && errno != ETIMEDOUT)
        operations_.violation("exs_close: " + errno_name(errno));
      return;
    default: break;
  }
  bool closes = false;
  post(EXS_EVT_CLOSE, [&](exs_ahandle_t handle, std::byte*) {
    const int result = exs_close_async(socket, 0, some_queue(random), handle);
    closes = result == 0;
    return result;
  });
  if (!closes) exs_close(socket);
}

void StressPeer::break_connection(Random& random) {
  const int socket = slots_[below(random, slots_.size())].socket;
  if (socket < 0) return;
  // An exs descriptor is a kernel descriptor, so any code that knows its number can do this.
  if (below(random, 2) == 0) {
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;  // the kernel resets the connection
    // A raw system call: the thread sanitizer takes the library call for the creation of the descriptor.
    ::syscall(SYS_connect, socket, &nobody, sizeof nobody);
  } else {
    ::shutdown(socket, static_cast<int>(below(random, 3)));
  }
}

// ---------------------------------------------------------------- operations

template <typename Post>
void StressPeer::post(int event_type, Post call) {
  post_within(kBoundNs, event_type, call);
}

template <typename Post>
std::optional<OperationTable::Ticket> StressPeer::post_within(std::uint64_t bound_ns, int event_type,
                                                              Post call) {
  const auto ticket = operations_.begin(event_type, bound_ns);
  if (!ticket) return std::nullopt;
  if (call(ticket->handle, memory_.at(ticket->slot * kBufferBytes)) == 0) return ticket;
  const int error = errno;
  operations_.refused(*ticket);
  if (!is_one_of(error, {EAGAIN, EBADF, ENOTCONN, EPIPE, EBUSY, EISCONN, EALREADY, EINVAL, EOPNOTSUPP}))
    operations_.violation(std::string(exs_evtname(event_type)) + " refused with " + errno_name(error));
  return std::nullopt;
}

void StressPeer::act(Random& random) {
  ConnectionSlot& slot = slots_[below(random, slots_.size())];
  const int socket = slot.socket;
  if (socket < 0) return;
  const exs_qhandle_t queue = some_queue(random);
  const std::size_t what = below(random, 1000);
  if (what < 900) return transfer(random, slot, socket);
  if (what < 940) return poll(random, socket, kBoundNs);
  if (what < 970) return cancel(random, socket);
  if (what < 985) {
    if (!slot.is_limited) limit(random, socket);
    return;
  }
  if (what < 988) {
    exs_flush(socket);
  } else if (what < 991) {
    exs_shutdown(socket, static_cast<int>(below(random, 3)));
  } else {
    post(EXS_EVT_SHUTDOWN, [&](exs_ahandle_t handle, std::byte*) {
      return exs_shutdown_async(socket, static_cast<int>(below(random, 3)), queue, handle);
    });
  }
}

// On a socket with a fixed time limit the operation must end within it, unless the slot got another socket
// meanwhile, perhaps with the same number.
void StressPeer::transfer(Random& random, ConnectionSlot& slot, int socket) {
  const std::uint32_t births = slot.births;
  const bool is_limited = slot.is_limited;
  const auto ticket = transfer_within(is_limited ? kLimitNs + kSlackNs : kBoundNs, random, socket);
  if (ticket && is_limited && (slot.births != births || slot.socket != socket))
    operations_.relax(*ticket, kBoundNs);
}

exs_msghdr_t* StressPeer::vector_of(Random& random, std::byte* buffer, std::size_t length_bytes,
                                    exs_mhandle_t region) {
  Vector& vector = vectors_[static_cast<std::size_t>(buffer - memory_.at()) / kBufferBytes];
  const std::size_t first = below(random, length_bytes + 1);
  vector.pieces = {};
  vector.pieces[0] = {buffer, first, region, 0};
  vector.pieces[1] = {buffer + first, 0, region, 0};
  vector.pieces[2] = {buffer + first, length_bytes - first, memory_.handle(), 0};
  vector.message = {};
  vector.message.msg_iov = vector.pieces.data();
  vector.message.msg_iovlen = static_cast<int>(vector.pieces.size());
  return &vector.message;
}

// Persistent operations have no limit: they end with their socket, or when they are cancelled.
std::optional<OperationTable::Ticket> StressPeer::transfer_within(std::uint64_t bound_ns, Random& random,
                                                                  int socket) {
  const exs_qhandle_t queue = some_queue(random);
  const bool sends = below(random, 2) == 0;
  if (!sends && below(random, 32) == 0) return receive_pooled(random, socket);
  const exs_mhandle_t region = below(random, 8) == 0 ? EXS_MHANDLE_UNREGISTERED : memory_.handle();
  const std::size_t length = below(random, 4) == 0 ? below(random, kBufferBytes) : below(random, 200);
  const std::size_t room = sends ? length : kBufferBytes;
  const int event_type = sends ? EXS_EVT_SEND : EXS_EVT_RECV;
  if (below(random, 20) == 0) {
    const std::uint64_t offset = below(random, kBufferBytes);
    return post_within(bound_ns, event_type, [&](exs_ahandle_t handle, std::byte* buffer) {
      return sends ? exs_send_offset(socket, buffer, room, 0, queue, handle, region, offset)
                   : exs_recv_offset(socket, buffer, room, 0, queue, handle, region, offset);
    });
  }
  if (below(random, 10) == 0) {
    return post_within(bound_ns, sends ? EXS_EVT_SENDMSG : EXS_EVT_RECVMSG,
                       [&](exs_ahandle_t handle, std::byte* buffer) {
                         exs_msghdr_t* const message = vector_of(random, buffer, room, region);
                         return sends ? exs_sendmsg(socket, message, 0, queue, handle)
                                      : exs_recvmsg(socket, message, 0, queue, handle);
                       });
  }
  const int flags = sends ? send_flags(random) : receive_flags(random);
  if ((flags & EXS_PERSISTENT) != 0) bound_ns = kBoundNs;
  return post_within(bound_ns, event_type, [&](exs_ahandle_t handle, std::byte* buffer) {
    return sends ? exs_send(socket, buffer, room, flags, queue, handle, region)
                 : exs_recv(socket, buffer, room, flags, queue, handle, region);
  });
}

// The receive ends with its socket, or when it is cancelled.
std::optional<OperationTable::Ticket> StressPeer::receive_pooled(Random& random, int socket) {
  return post_within(kBoundNs, EXS_EVT_RECV, [&](exs_ahandle_t handle, std::byte*) {
    return exs_recv_pooled(socket, pool_, 0, some_queue(random), handle);
  });
}

void StressPeer::poll(Random& random, int socket, std::uint64_t bound_ns) {
  const exs_qhandle_t queue = some_queue(random);
  const std::uint32_t events =
      std::array{0, EXS_POLLIN, EXS_POLLOUT, EXS_POLLIN | EXS_POLLOUT}[below(random, 4)];
  post_within(bound_ns, EXS_EVT_POLL, [&](exs_ahandle_t handle, std::byte*) {
    const exs_pollfd_t entry{socket, events, handle};
    return exs_poll(&entry, 1, 0, queue) == 1 ? 0 : -1;
  });
}

void StressPeer::cancel(Random& random, int socket) {
  const exs_ahandle_t handle = operations_.some_handle(random());
  const int flags =
      std::array{EXS_CAF_FILDES, EXS_CAF_AHANDLE, EXS_CAF_FILDES | EXS_CAF_AHANDLE}[below(random, 3)];
  const int matched = exs_cancel(socket, handle, flags);
  if (matched > 0) cancels_ += static_cast<std::uint64_t>(matched);
  if (matched == 0 || (matched < 0 && errno != ENOENT && errno != EBADF))
    operations_.violation("exs_cancel: " + std::to_string(matched) + ", " + errno_name(errno));
}

// ---------------------------------------------------------------- events

void StressPeer::drain(std::size_t queue, std::int64_t timeout_ns) {
  exs_event_t events[64];
  const int count = exs_qwait(queues_[queue]->handle(), events, 64, 1, timeout_ns);
  if (count < 0 && errno != EINTR) operations_.violation("exs_qwait: " + errno_name(errno));
  for (int i = 0; i < count; ++i) take(events[i]);
}

void StressPeer::add_newcomer(const exs_event_t& event) {
  if (event.exs_evt_errno != 0) return;
  const std::lock_guard guard(mutex_);
  newcomers_.push_back(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
}

bool StressPeer::take_part(const exs_event_t& event) {
  if ((event.exs_evt_flags & EXS_EVF_MORE) == 0) return false;
  if (event.exs_evt_type == EXS_EVT_ACCEPT) add_newcomer(event);
  if (event.exs_evt_type != EXS_EVT_RECV) return true;
  if (exs_pool_return(pool_, event.exs_evt_union.exs_evt_xfer.exs_evt_buf) != 0)
    operations_.violation("exs_pool_return: " + errno_name(errno));
  return true;
}

void StressPeer::take(const exs_event_t& event) {
  if (take_part(event)) return;
  switch (event.exs_evt_type) {
    case EXS_EVT_SENDTIMEOUT:
    case EXS_EVT_RECVTIMEOUT:
      ++late_notices_;
      if (event.exs_evt_ahandle != nullptr) operations_.violation("a notice with a foreign handle");
      return;
    case EXS_EVT_ACCEPT:
      --open_accepts_;
      add_newcomer(event);
      break;
    default: break;
  }
  check_error(event);
  operations_.ended(event);
}

// Two correct ends never report a protocol error.
void StressPeer::check_error(const exs_event_t& event) {
  const int error = event.exs_evt_errno;
  if (error == 0 || is_one_of(error, {ECANCELED, ECONNRESET, EPIPE, ETIMEDOUT})) return;
  const bool connects = event.exs_evt_type == EXS_EVT_CONNECT;
  if (connects && is_one_of(error, {ECONNREFUSED, ECONNABORTED, ENOTCONN, EINVAL})) return;
  const bool transfers = event.exs_evt_type >= EXS_EVT_SEND && event.exs_evt_type <= EXS_EVT_RECVMSG;
  if (transfers && is_one_of(error, {ERANGE, EINVAL, EBUSY})) return;  // with persistent operations
  operations_.violation(std::string(exs_evtname(event.exs_evt_type)) + " ended with " + errno_name(error));
}

bool StressPeer::finish(Random& random) {
  if (listening_ >= 0) exs_close(std::exchange(listening_, -1));
  const std::uint64_t deadline_ns = monotonic_ns() + kBoundNs;
  // Events of accepted connections may still be in the queues.
  for (bool all = false; !all && monotonic_ns() < deadline_ns;) {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) close_one(random, slot);
    for (std::size_t queue = 0; queue < queues_.size(); ++queue) drain(queue, 1'000'000);
    tend(random, monotonic_ns());
    all = operations_.open() == 0 && empty_slot() == 0 && newcomers_.empty();
  }
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) close_one(random, slot);
  if (operations_.open() != 0) operations_.report_open();
  for (const auto& queue : queues_) {
    while (attribute(queue->handle(), EXS_QATTR_EVENTS) > 0) drain(0, 0), drain(1, 0);
    if (attribute(queue->handle(), EXS_QATTR_RESERVED_SLOTS) != 0) operations_.violation("slots are left");
  }
  return operations_.violations() == 0;
}

}  // namespace exs::test
