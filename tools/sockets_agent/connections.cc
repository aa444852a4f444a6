// SPDX-License-Identifier: BSD-2-Clause
#include "tools/sockets_agent/connections.h"

#include <cstring>

#include "sockets/preload/kernel/peer_user.h"

namespace agent {
namespace {

exs::sockets::Point point_of(const Place16& place) {
  exs::sockets::Point point{};
  std::memcpy(point.address, place.address, sizeof point.address);
  point.port = place.port;
  return point;
}

}  // namespace

std::optional<uid_t> owner_of(const Place16& own, const Place16& peer) {
  uid_t user = 0;
  if (!exs::sockets::user_of_socket(point_of(own), point_of(peer), user)) return std::nullopt;
  return user;
}

}  // namespace agent
