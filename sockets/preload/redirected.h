// What a packet filter of this network namespace makes of a connection's names (NAT), as far as the kernel tells every user: where the
// caller's first packet was to go. It does not tell a rewritten source (arrivals.h). Thread: any.
#pragma once

#include "sockets/preload/point.h"

namespace exs::sockets {

enum class Tracking {
  kNone,        // no filter keeps track of the connection, so none gives it other names
  kMayRewrite,  // one does, and may have rewritten the source
  kRedirected,  // it goes to another address or port
};

// `own` and `peer` are the names of the connected socket `number`, which is the caller's or the called one.
Tracking tracking_of(int number, const Point& own, const Point& peer, bool is_caller) noexcept;

}  // namespace exs::sockets
