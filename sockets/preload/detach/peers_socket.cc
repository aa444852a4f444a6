// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/detach/peers_socket.h"

#include <sys/socket.h>

#include <cstdio>

#include "sockets/preload/kernel/identity.h"
#include "sockets/preload/kernel/number_list.h"
#include "sockets/preload/kernel/point.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {
namespace {

constexpr int kNumbersMax = 4096;

// Mirrored names identify two ends of one connection here: the meeting ensured a single network namespace.
bool are_mirrored(int one, int other) noexcept {
  Point own{};
  Point peer{};
  Point others_own{};
  Point others_peer{};
  return point_of(SYS_getsockname, one, own) && point_of(SYS_getpeername, one, peer) &&
         point_of(SYS_getsockname, other, others_own) && point_of(SYS_getpeername, other, others_peer) &&
         own == others_peer && peer == others_own;
}

}  // namespace

bool PeersSocket::borrow(int process, int peers_number, int number) noexcept {
  descriptor_ = static_cast<int>(raw::sys(SYS_pidfd_getfd, process, peers_number, 0));
  if (descriptor_ >= 0 && are_mirrored(number, descriptor_) && have_one_namespace(number, descriptor_))
    return true;
  if (descriptor_ >= 0) raw::sys(SYS_close, descriptor_);
  descriptor_ = -1;
  return false;
}

PeersSocket::PeersSocket(int number, const FamilySlot& slot) noexcept {
  const auto process =
      slot.lane.peer <= 0 ? -1 : static_cast<int>(raw::sys(SYS_pidfd_open, slot.lane.peer, 0));
  if (process < 0) return;
  if (!borrow(process, slot.lane.peers_number, number)) {  // the peer may have another number for it now
    int left = kNumbersMax;
    char folder[32];
    std::snprintf(folder, sizeof folder, "/proc/%d/fd", slot.lane.peer);
    each_number_in(folder, [&](int peers_number) {
      if (descriptor_ < 0 && left-- > 0) borrow(process, peers_number, number);
    });
  }
  raw::sys(SYS_close, process);
}

PeersSocket::~PeersSocket() {
  if (descriptor_ >= 0) raw::sys(SYS_close, descriptor_);
}

}  // namespace exs::sockets
