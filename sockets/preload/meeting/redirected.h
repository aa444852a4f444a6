// What a packet filter of this network namespace does to a connection's names (NAT), as far as every user may
// ask. The kernel tells the destination of the caller's first packet. It does not tell a rewritten source
// (arrivals.h). Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/preload/kernel/point.h"

namespace exs::sockets {

enum class Tracking {
  kNone,        // no filter tracks the connection, so none renames it
  kMayRewrite,  // a filter tracks it, and may have rewritten the source
  kRedirected,  // its destination was another address or port
};

// `own` and `peer` are the names of the connected socket `number`, the caller's or the called one.
Tracking tracking_of(int number, const Point& own, const Point& peer, bool is_caller) noexcept;

}  // namespace exs::sockets
