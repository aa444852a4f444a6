// The peer's own descriptor of a connection, if the same user owns it. The kernel lends it to a process that
// may look into the peer. With it we send what the peer has put into the ring, because the peer may compute
// for hours. It is held briefly: the peer's end of the connection cannot close meanwhile. Thread: holder of
// the connection's lock for receiving.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/preload/table/slot.h"

namespace exs::sockets {

class PeersSocket {
 public:
  PeersSocket(int number, const FamilySlot& slot) noexcept;
  ~PeersSocket();
  PeersSocket(const PeersSocket&) = delete;
  PeersSocket& operator=(const PeersSocket&) = delete;

  // -1: the kernel does not lend it, or the process that met no longer has it.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  bool borrow(int process, int peers_number, int number) noexcept;

  int descriptor_ = -1;
};

}  // namespace exs::sockets
