// exs_socket, exs_bind, exs_connect, exs_accept and their synchronous forms, exs_getsockname,
// exs_getpeername.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/socket.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <functional>

#include "base/kernel.h"
#include "base/socket_address.h"
#include "src/api/adopt.h"
#include "src/api/api_call.h"
#include "src/api/bind.h"
#include "src/api/control.h"
#include "src/provider/own_sockets.h"
#include "src/provider/registry.h"

namespace exs {
namespace {

Status check_address(const Socket& socket, const sockaddr* address, socklen_t length) {
  if (address == nullptr) return null_argument();
  const bool sensible = length >= sizeof(sa_family_t) && length <= sizeof(sockaddr_storage);
  if (sensible && address->sa_family != socket.domain())
    return refuse(EAFNOSUPPORT, "the address has the family {}, the socket {}: they must be the same",
                  address->sa_family, socket.domain());
  if (sensible && length >= address_bytes(*address)) return Status();
  return refuse(EINVAL,
                "{} is not the length of an address: give the size of its struct sockaddr_in or sockaddr_in6",
                length);
}

// Reserves the slot for the event of a connect or an accept, after all checks.
using Claim = std::function<Result<ControlTarget>()>;

Claim claim_of(Library& library, exs_qhandle_t queue, exs_ahandle_t ahandle) {
  return [&library, queue, ahandle] { return claim_target(library, queue, ahandle); };
}

Status check_connectable(Socket& socket) EXS_REQUIRES(socket.mutex) {
  if (socket.backlog() > 0) return refuse(EINVAL, "the socket listens: connect with another one");
  if (socket.adopted() == Adopted::kConnected) return Status(EISCONN);
  if (socket.adopted() == Adopted::kUnconnected) {
    return refuse(EOPNOTSUPP,
                  "{} is a socket of the kernel: connect it with connect(2), or make it with exs_socket",
                  socket.number());
  }
  const Session* const session = socket.session();
  if (session == nullptr) return Status();
  const auto state = session->state();
  const bool under_way = state == Session::State::kIdle || state == Session::State::kConnecting;
  if (under_way) return refuse(EALREADY, "a connect is under way: wait for its EXS_EVT_CONNECT");
  return refuse(EISCONN, "the socket is or was connected: a socket connects once, make another one");
}

Status connect_socket(Socket& socket, const sockaddr* address, socklen_t length, const Claim& claim) {
  LockGuard guard(socket.mutex);
  if (const Status status = check_connectable(socket); !status.ok()) return status;
  if (const Status status = check_address(socket, address, length); !status.ok()) return status;
  auto target = claim();
  if (!target) return target.error();
  const auto shard = target->queue->home();
  sockaddr_storage peer{};
  std::memcpy(&peer, address, length);
  ClaimedSlot slot(*target);
  auto session = std::make_shared<LinkSession>(shard, socket.descriptor(),
                                               socket.options().session(SocketOptions::kConnectDefaultMs));
  auto task = make_task([session, peer, length, target = *target]() mutable {
    session->connect(peer, length, std::move(target));
  });
  slot.hand_over();
  // No other thread knows the session yet.
  session->set_time_limit(proto::Direction::kSend, std::exchange(socket.limits().send, nullptr));
  session->set_time_limit(proto::Direction::kReceive, std::exchange(socket.limits().receive, nullptr));
  socket.connect_with(session);
  shard->execute(std::move(task));
  return Status();
}

Status accept_on(Library& library, Socket& socket, exs_acceptaddr_t* address, int flags, const Claim& claim) {
  LockGuard guard(socket.mutex);
  if (socket.backlog() == 0) return refuse(EINVAL, "the socket does not listen: call exs_listen first");
  auto target = claim();
  if (!target) return target.error();
  ClaimedSlot slot(*target);
  const auto acceptor = acceptor_of(library, socket, target->queue->home());
  auto task = make_task([acceptor, target = *target, address, flags] {
    if (flags == EXS_MULTISHOT) return acceptor->post_multishot(target);
    acceptor->post({.target = target, .address = address});
  });
  slot.hand_over();
  acceptor->shard()->execute(std::move(task));
  return Status();
}

// Waits for the event of a connect or an accept. A caught signal cancels it: EINTR, unless it was complete
// already.
exs_event_t outcome_of(Socket& socket, const PrivateQueue& queue, const ControlTarget& target) {
  bool interrupted = false;
  exs_event_t event = queue.await([&] {
    interrupted = true;
    proto::Selection selection;
    selection.any_handle = false;
    selection.handle = target.handle;
    cancel_on(socket, selection);
  });
  if (interrupted && event.exs_evt_errno == ECANCELED) event.exs_evt_errno = EINTR;
  return event;
}

enum class End { kOurs, kPeers };

// The session knows the addresses of a connection that the kernel's socket does not carry.
Result<int> name_of(Library& library, int number, End end, sockaddr* address, socklen_t* length) {
  const auto socket = find_socket(library, number);
  if (!socket) return failure(no_such_socket(number));
  if (address == nullptr || length == nullptr) return failure(null_argument());
  const Session* const session = socket->session();
  const auto* const ends = session == nullptr ? nullptr : session->ends();
  if (ends == nullptr) {
    const auto kernel_call = end == End::kOurs ? kernel::getsockname : kernel::getpeername;
    return api_result(kernel_status(kernel_call(socket->number(), address, length)));
  }
  if (*length > INT_MAX) return failure(refuse(EINVAL, "{} is not the length of an address", *length));
  if (end == End::kPeers && session->state() == Session::State::kEnded)
    return failure(
        refuse(ENOTCONN, "the connection has ended; if it broke, EXS_SO_ERROR_TEXT of the socket tells why"));
  const sockaddr_storage& known = end == End::kOurs ? ends->ours : ends->peers;
  const socklen_t whole = address_bytes(*as_sockaddr(known));
  std::memcpy(address, &known, std::min(*length, whole));
  *length = whole;
  return 0;
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_socket(int domain, int type, int protocol) {
  return api_call([&](Library& library) -> Result<int> {
    if (domain != AF_INET && domain != AF_INET6)
      return failure(refuse(EAFNOSUPPORT,
                            "the family {} is neither AF_INET nor AF_INET6; a connected AF_UNIX socket of "
                            "the kernel can be given to exs_send and the like as it is",
                            domain));
    if ((type != SOCK_SEQPACKET && type != SOCK_STREAM) || protocol != 0)
      return failure(refuse(EPROTONOSUPPORT,
                            "type {} with protocol {}: the type is SOCK_SEQPACKET or SOCK_STREAM, without "
                            "SOCK_NONBLOCK, as nothing blocks, and the protocol 0",
                            type, protocol));
    const auto number = OwnSockets::open(
        [domain] { return kernel::socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
    if (!number) return number;
    UniqueFd made(*number);
    SocketOptions options(type == SOCK_STREAM ? proto::SocketKind::kStream : proto::SocketKind::kMessage);
    options.provider = library.provider_wish();
    const auto descriptor = KernelDescriptor::own(std::move(made));
    const auto socket = std::make_shared<Socket>(descriptor, domain, std::move(options));
    if (const Status status = insert_socket(library, socket); !status.ok()) return failure(status);
    return socket->number();
  });
}

int exs_bind(int number, const struct sockaddr* address, socklen_t length) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = find_socket(library, number);
    if (!socket) return failure(no_such_socket(number));
    if (socket->adopted() != Adopted::kNo)
      return api_result(kernel_status(kernel::bind(number, address, length)));
    if (const Status status = check_address(*socket, address, length); !status.ok()) return failure(status);
    LockGuard guard(socket->mutex);
    return api_result(bind_socket(*socket, *address));
  });
}

int exs_connect(int number, const struct sockaddr* address, socklen_t length, int flags, exs_qhandle_t queue,
                exs_ahandle_t handle) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = find_socket(library, number);
    if (!socket) return failure(no_such_socket(number));
    if (flags != 0) return failure(no_such_flags(flags));
    return api_result(connect_socket(*socket, address, length, claim_of(library, queue, handle)));
  });
}

int exs_accept(int number, exs_acceptaddr_t* address, int flags, exs_qhandle_t queue, exs_ahandle_t handle) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = find_socket(library, number);
    if (!socket) return failure(no_such_socket(number));
    if (flags != 0 && flags != EXS_MULTISHOT) return failure(no_such_flags(flags));
    if (flags == EXS_MULTISHOT && address != nullptr)
      return failure(refuse(EINVAL,
                            "one address for many connections: give NULL with EXS_MULTISHOT, and ask "
                            "exs_getpeername of the new socket"));
    return api_result(accept_on(library, *socket, address, flags, claim_of(library, queue, handle)));
  });
}

int exs_connect_sync(int number, const struct sockaddr* address, socklen_t length) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = find_socket(library, number);
    if (!socket) return failure(no_such_socket(number));
    const auto queue = PrivateQueue::create(library);
    if (!queue) return failure(queue.error());
    ControlTarget target = queue->target();
    const Status status = connect_socket(*socket, address, length, [&] { return target; });
    if (!status.ok()) return failure(status);
    return api_result(told_by(*socket, outcome_of(*socket, *queue, target).exs_evt_errno));
  });
}

int exs_accept_sync(int number, struct sockaddr* address, socklen_t* length) {
  return api_call([&](Library& library) -> Result<int> {
    const auto socket = find_socket(library, number);
    if (!socket) return failure(no_such_socket(number));
    if (address != nullptr && length == nullptr) return failure(null_argument());
    const auto queue = PrivateQueue::create(library);
    if (!queue) return failure(queue.error());
    ControlTarget target = queue->target();
    exs_acceptaddr_t peer{address, address == nullptr ? 0 : *length};
    const Status status = accept_on(library, *socket, &peer, 0, [&] { return target; });
    if (!status.ok()) return failure(status);
    const exs_event_t event = outcome_of(*socket, *queue, target);
    if (event.exs_evt_errno != 0) return failure(event.exs_evt_errno);
    if (address != nullptr) *length = peer.addrlen;
    return event.exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  });
}

int exs_getsockname(int number, struct sockaddr* address, socklen_t* length) {
  return api_call([&](Library& library) { return name_of(library, number, End::kOurs, address, length); });
}

int exs_getpeername(int number, struct sockaddr* address, socklen_t* length) {
  return api_call([&](Library& library) { return name_of(library, number, End::kPeers, address, length); });
}
