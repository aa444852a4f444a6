// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/peer_socket.h"

#include <sys/socket.h>

#include "base/kernel.h"
#include "src/provider/shm/control_packet.h"
#include "src/provider/shm/identity.h"

namespace exs::shm {
namespace {

// An unconnected socket has no user at its other end.
bool is_another_users(int socket) {
  constexpr auto kNobody = static_cast<uid_t>(-1);
  const Result<Credentials> peer = Credentials::of_peer(socket);
  return !peer || (peer->uid != kNobody && peer->uid != kernel::geteuid());
}

// Unreceived packets may have descriptors, which would be closed with the socket.
void empty(int socket) {
  constexpr int kPacketsMax = 1000;  // more than a socket holds
  kernel::shutdown(socket, SHUT_RD);
  for (int i = 0; i < kPacketsMax; ++i) {
    const Result<ReceivedPacket> dropped = receive_packet(socket);
    if (!dropped && dropped.error() != Status(EPROTO) && dropped.error() != Status(EMFILE)) return;
  }
}

}  // namespace

void PeerSocket::reset() noexcept {
  if (!socket_.valid()) return;
  if (is_another_users(socket_.get())) return close_elsewhere(std::move(socket_));
  empty(socket_.get());
  socket_.reset();
}

}  // namespace exs::shm
