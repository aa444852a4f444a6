// The other end of a TCP connection on this host, as the kernel reports it: its user and its received bytes.
// That end is the socket with the mirrored names in this network namespace. Every user may ask (sock_diag); a
// question takes some microseconds. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "sockets/preload/kernel/point.h"

namespace exs::sockets {

struct FarSocket {
  enum class Is { kThere, kNone, kNotTold };

  Is is = Is::kNotTold;
  uid_t user = 0;              // the socket's creator
  bool has_counts = false;     // a half-open socket has none
  std::uint64_t received = 0;  // bytes, ever; the end counts as one
};

// `number` is the socket with the names `own` and `peer`. -1: any socket with them in the thread's network
// namespace.
FarSocket look_at_far_socket(int number, const Point& own, const Point& peer) noexcept;
// The user that created the socket with exactly these names. False: no such socket, or the kernel does not
// tell.
bool user_of_socket(const Point& own, const Point& peer, uid_t& user) noexcept;

}  // namespace exs::sockets
