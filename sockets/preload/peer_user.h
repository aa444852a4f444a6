// What the kernel says of the other end of a TCP connection inside of the host, whose it is and what it has received: of the socket that
// has the mirrored names, in this network namespace. Every user may ask (sock_diag); a question takes some microseconds. Thread: any.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "sockets/preload/point.h"

namespace exs::sockets {

struct FarSocket {
  enum class Is { kThere, kNone, kNotTold };

  Is is = Is::kNotTold;
  uid_t user = 0;              // that made it
  bool has_counts = false;     // one that is half open has none
  std::uint64_t received = 0;  // bytes, ever; the end counts as one
};

// `number` is the socket that has the names `own` and `peer`; -1: whatever has, in the thread's network namespace.
FarSocket look_at_far_socket(int number, const Point& own, const Point& peer) noexcept;
// The user that made the socket which has these names itself. False: there is none, or the kernel does not tell.
bool user_of_socket(const Point& own, const Point& peer, uid_t& user) noexcept;

}  // namespace exs::sockets
