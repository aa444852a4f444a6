// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/meeting/redirected.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {
namespace {

// SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST, whose headers do not go with <netinet/in.h>.
constexpr int kOriginalDestination = 80;

// Asks the kernel's connection tracking for the destination of the caller's first packet. False: the
// connection is not tracked.
bool original_destination(int number, bool ipv4, Point& destination) noexcept {
  sockaddr_storage name{};
  socklen_t length = ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (raw::sys(SYS_getsockopt, number, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, kOriginalDestination, &name,
               &length) != 0)
    return false;
  return to_point(name, destination);
}

}  // namespace

Tracking tracking_of(int number, const Point& own, const Point& peer, bool is_caller) noexcept {
  Point destination{};
  if (!original_destination(number, own.is_ipv4(), destination)) return Tracking::kNone;
  return destination == (is_caller ? peer : own) ? Tracking::kMayRewrite : Tracking::kRedirected;
}

}  // namespace exs::sockets
