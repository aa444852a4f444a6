// Whether a packet filter of this network namespace gives a connection other addresses or ports on its way (NAT). The names of its two
// sockets prove nothing then: another connection may have the mirrored ones. Thread: any.
#pragma once

#include "sockets/preload/point.h"

namespace exs::sockets {

// `own` and `peer` are the names of the connected socket `number`, which is the caller's or the called one.
bool is_redirected(int number, const Point& own, const Point& peer, bool is_caller) noexcept;

}  // namespace exs::sockets
