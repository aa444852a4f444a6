// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/listening_socket.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/hex.h"
#include "base/kernel.h"
#include "src/provider/shm/control_packet.h"

namespace exs::shm {
namespace {

constexpr int kBacklog = 128;
constexpr std::uint64_t kRetryNs = 100'000'000;

UniqueFd make_spare() {
  return UniqueFd(kernel::eventfd(0, EFD_CLOEXEC));
}

}  // namespace

AbstractAddress::AbstractAddress(const RandomId& socket_id) {
  constexpr std::string_view kPrefix = "exs-";
  address.sun_family = AF_UNIX;
  char* at = address.sun_path + 1;  // abstract
  at = std::copy(kPrefix.begin(), kPrefix.end(), at);
  at = write_hex(socket_id, at);
  bytes = static_cast<socklen_t>(at - reinterpret_cast<char*>(&address));
}

ListeningSocket::~ListeningSocket() {
  if (!socket_.valid()) return;
  poller_.remove(socket_.get());
  // Waiting peers are closed according to their user, not all at once with the socket.
  kernel::shutdown(socket_.get(), SHUT_RDWR);
  spare_.reset();  // a descriptor for them
  while (accept_next().valid()) continue;
}

bool ListeningSocket::open(Reason& why_not) {
  const Result<RandomId> id = random_id();
  if (!id) {
    why_not = Reason::make(ReasonCode::kFailed, "getrandom gives nothing");
    return false;
  }
  UniqueFd socket(kernel::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  UniqueFd spare = make_spare();
  if (!socket.valid() || !spare.valid()) {
    const bool lacking = errno == EMFILE || errno == ENFILE;
    why_not = Reason::make(lacking ? ReasonCode::kNoDescriptors : ReasonCode::kNoUnixSocket,
                           "abstract Unix socket: %s", std::strerror(errno));
    return false;
  }
  const AbstractAddress address(*id);
  if (kernel::bind(socket.get(), address.get(), address.bytes) != 0 ||
      kernel::listen(socket.get(), kBacklog) != 0) {
    why_not = Reason::make(ReasonCode::kNoUnixSocket, "bind or listen of an abstract Unix socket: %s",
                           std::strerror(errno));
    return false;
  }
  if (const Status status = poller_.add(socket.get(), EPOLLIN, *this); !status.ok()) {
    why_not = Reason::make(ReasonCode::kFailed, "epoll_ctl: %s", std::strerror(status.error()));
    return false;
  }
  watched_ = true;
  id_ = *id;
  socket_ = std::move(socket);
  spare_ = std::move(spare);
  return true;
}

PeerSocket ListeningSocket::accept_next() {
  return PeerSocket(UniqueFd(kernel::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)));
}

PeerSocket ListeningSocket::accept() {
  PeerSocket peer = accept_next();
  if (!peer.valid() && (errno == EMFILE || errno == ENFILE)) refuse_for_lack_of_descriptors();
  return peer;
}

void ListeningSocket::refuse_for_lack_of_descriptors() {
  spare_.reset();
  {
    const PeerSocket peer = accept_next();
    if (peer.valid()) {
      ControlPacket refusal;
      refusal.kind = PacketKind::kRefusal;
      refusal.code = static_cast<std::uint32_t>(ReasonCode::kNoDescriptors);
      [[maybe_unused]] const Status sent = send_packet(peer.get(), refusal);
    }
  }
  spare_ = make_spare();
  // Another thread took the descriptor that was free.
  if (!spare_.valid()) pause();
}

void ListeningSocket::resume(std::uint64_t now_ns, bool has_room) {
  if (!is_paused() || now_ns < retry_ns_) return;
  // The last close of another user's connection causes no notification.
  retry_ns_ = closing() > 0 ? now_ns + kRetryNs : 0;
  if (!has_room) return;
  retry_ns_ = 0;
  if (!spare_.valid()) spare_ = make_spare();
  if (spare_.valid()) {
    watch(true);
  } else {
    retry_ns_ = now_ns + kRetryNs;
  }
}

void ListeningSocket::watch(bool watched) {
  if (!socket_.valid() || watched_ == watched) return;
  watched_ = watched;
  poller_.change(socket_.get(), watched ? EPOLLIN : 0U, *this);
}

}  // namespace exs::shm
