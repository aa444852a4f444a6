// The peer's own descriptor of a connection, if it is the same user's: the kernel lends it to who may look into its process. With
// it we send what the peer, which may compute for hours, has put into the ring. Held for moments: while it is open, the peer's end
// of the connection does not close. Thread: holder of the connection's lock for receiving.
#pragma once

#include "sockets/preload/slot.h"

namespace exs::sockets {

class PeersSocket {
 public:
  PeersSocket(int number, const Slot& slot) noexcept;
  ~PeersSocket();
  PeersSocket(const PeersSocket&) = delete;
  PeersSocket& operator=(const PeersSocket&) = delete;

  // -1: the kernel does not lend it, or the process that met has none any more.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  bool borrow(int process, int peers_number, int number) noexcept;

  int descriptor_ = -1;
};

}  // namespace exs::sockets
