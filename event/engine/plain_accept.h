// Accepts connections from a listening socket of the application. The socket may be in blocking mode and
// shared with other processes, which may take a connection first: accept4 could then wait for ever with the
// drive lock held. The mode cannot be changed, because all processes that share the socket share the mode.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "base/status.h"

struct io_uring;

namespace exs {

// It accepts through an io_uring, which works in either mode, and cancels the request when there is no
// connection. Without a ring (`ring_allowed` is false, or the kernel refuses it) it uses poll and accept4,
// and a blocking listening socket must have no other acceptor.
// Thread: shard.
class PlainAccept {
 public:
  explicit PlainAccept(bool ring_allowed);
  ~PlainAccept();
  PlainAccept(const PlainAccept&) = delete;
  PlainAccept& operator=(const PlainAccept&) = delete;

  // Returns a descriptor, close-on-exec and in blocking mode. EAGAIN: there is no connection. Else an errno
  // of accept4.
  Result<int> accept(int listening);

 private:
  bool ring_is_there();
  Result<int> accept_through_ring(int listening);
  // Takes the result of the accept. False: there is none yet.
  bool reap(int& result);

  bool ring_allowed_;
  std::unique_ptr<io_uring> ring_;  // opened by the first accept that needs it
};

}  // namespace exs
