// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/client_link.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/socket_address.h"
#include "base/unique_fd.h"
#include "rpc/channel/close_socket.h"
#include "rpc/channel/open_socket.h"
#include "rpc/channel/process.h"
#include "rpc/sunrpc/refusals.h"
#include "rpc/sunrpc/rendezvous.h"
#include "rpc/sunrpc/settings.h"
#include "rpc/sunrpc/xdr_function.h"

namespace exs::rpc {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kOfferNs = 5 * kSecond;
constexpr std::uint32_t kLongestAnswer = std::uint32_t{1} << 30U;
constexpr int kQueueDepth = 64;

// Asks by the handle's own connection, as a call of another program. The caller's credentials are left out, because they are for his
// server.
clnt_stat ask_for_link(CLIENT& plain, OfferAnswer& answer, std::int64_t limit_ns) {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t ours = kProgram;
  std::uint32_t our_version = kProgramVersion;
  if (!clnt_control(&plain, CLGET_PROG, &program) || !clnt_control(&plain, CLGET_VERS, &version))
    return RPC_SYSTEMERROR;
  clnt_control(&plain, CLSET_PROG, &ours);
  clnt_control(&plain, CLSET_VERS, &our_version);
  AUTH* const auth = std::exchange(plain.cl_auth, authnone_create());
  LinkOffer offer{static_cast<std::uint32_t>(OfferKind::kSunRpc), kLinkVersion, kInlineBytes};
  const timeval limit = {limit_ns / kSecond, limit_ns % kSecond / 1000};
  const clnt_stat told = clnt_call(&plain, kOfferProcedure, xdr_function(xdr_offer), &offer,
                                   xdr_function(xdr_answer), &answer, limit);
  plain.cl_auth = auth;
  clnt_control(&plain, CLSET_PROG, &program);
  clnt_control(&plain, CLSET_VERS, &version);
  return told;
}

// Some servers close the connection on an unknown program. Then a new connection gets the old descriptor's number.
void connect_anew(CLIENT& plain, int descriptor) {
  netbuf address{};
  if (!clnt_control(&plain, CLGET_SVC_ADDR, &address)) return;
  const auto* const server = static_cast<const sockaddr*>(address.buf);
  const UniqueFd made(kernel::socket(server->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!made.valid()) return;
  const int flags = kernel::fcntl(descriptor, F_GETFD);
  if (kernel::connect(made.get(), server, address.len) == 0)
    kernel::dup3(made.get(), descriptor, flags >= 0 && (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
}

// The server's exs socket is at the address of its end of the connection.
void set_place(sockaddr_storage& place, socklen_t& length, std::uint32_t port) {
  if (address_bytes(*as_sockaddr(place)) == 0) {
    place = v4_address({htonl(INADDR_LOOPBACK)}, 0);
    length = sizeof(sockaddr_in);
  }
  port_of(place) = htons(static_cast<std::uint16_t>(port));
}

// iwarp runs over TCP itself, and needs more steps for a long message than the handle's connection.
std::uint32_t longest_by(int socket) {
  constexpr std::uint32_t kLongestByIwarp = std::uint32_t{128} << 10U;
  char provider[16] = "";
  socklen_t length = sizeof provider;
  exs_getsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, provider, &length);
  return std::strcmp(provider, "iwarp") == 0 ? kLongestByIwarp : UINT32_MAX;
}

}  // namespace

std::unique_ptr<ClientLink> ClientLink::connect(CLIENT& plain, std::int64_t limit_ns) {
  int descriptor = -1;
  sockaddr_storage server{};
  socklen_t length = sizeof server;
  if (!clnt_control(&plain, CLGET_FD, &descriptor) ||
      kernel::getpeername(descriptor, as_sockaddr(server), &length) != 0 || has_refused(server, length) ||
      !has_descriptors())
    return nullptr;
  OfferAnswer answer{};
  const clnt_stat told = ask_for_link(plain, answer, std::min(limit_ns, kOfferNs));
  if (told == RPC_CANTRECV || told == RPC_CANTSEND) connect_anew(plain, descriptor);
  std::unique_ptr<ClientLink> made(new (std::nothrow) ClientLink);
  sockaddr_storage place = server;
  socklen_t place_length = length;
  if (made != nullptr && told == RPC_SUCCESS && answer.reason == OfferRefusal::kNone &&
      answer.version == kLinkVersion && answer.inline_bytes == kInlineBytes && answer.port <= UINT16_MAX &&
      start_library().ok()) {
    set_place(place, place_length, answer.port);
    if (made->reach(place, place_length, answer, std::min(limit_ns, kSecond))) return made;
  }
  note_refusal(server, length);
  return nullptr;
}

ClientLink::~ClientLink() {
  link_.reset();
  if (queue_ != EXS_QHANDLE_INVALID) exs_qdelete(queue_);
}

bool ClientLink::reach(const sockaddr_storage& place, socklen_t length, const OfferAnswer& answer,
                       std::int64_t limit_ns) {
  queue_ = exs_qcreate(kQueueDepth);
  if (queue_ == EXS_QHANDLE_INVALID) return false;
  const int socket = open_socket(place.ss_family, "sunrpc");
  if (socket < 0) return false;
  link_.reset(new (std::nothrow) MessageLink(socket, queue_, this));
  if (link_ == nullptr) {
    close_socket(socket);
    return false;
  }
  constexpr std::size_t kSmall = kFrameBytes + kInlineBytes;
  const int connect_ms = static_cast<int>(std::max<std::int64_t>(limit_ns / 1'000'000, 1));
  exs_fcntl(socket, EXS_F_SET_SMALL_MAX, kSmall);
  exs_setsockopt(socket, SOL_EXS, EXS_SO_CONNECT_TIMEOUT_MS, &connect_ms, sizeof connect_ms);
  exs_event_t event{};
  if (exs_connect(socket, as_sockaddr(place), length, 0, queue_, this) != 0 ||
      exs_qwait(queue_, &event, 1, 1, 2 * limit_ns) != 1 || event.exs_evt_errno != 0)
    return false;
  longest_possible_ = answer.longest;
  longest_ = std::min(answer.longest, longest_by(socket));
  const std::span<const char> token(answer.token);
  if (settings().is_reduced) link_->use_plain_memory();
  return link_->start_receiving(kLongestAnswer).ok() &&
         link_->send_frame(FrameType::kHello, std::as_bytes(token)).ok() &&
         wait(limit_ns) == MessageLink::News::kMessage && link_->type() == FrameType::kWelcome &&
         link_->receive_next().ok();
}

MessageLink::News ClientLink::wait(std::int64_t limit_ns) {
  const std::uint64_t end_ns = limit_after(monotonic_ns(), limit_ns);
  for (std::int64_t left = limit_ns;;) {
    exs_event_t event;
    const int count = exs_qwait(queue_, &event, 1, 1, left);
    if (count == 0) return MessageLink::News::kNothing;
    if (count == 1)
      if (const MessageLink::News news = link_->take_event(event); news != MessageLink::News::kNothing)
        return news;
    if (count < 0 && errno != EINTR) return MessageLink::News::kEnd;
    left = wait_left(end_ns, monotonic_ns());
  }
}

}  // namespace exs::rpc
