// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/connection_setup.h"

#include <string>

#include "base/kernel.h"
#include "src/proto/connection.h"

namespace exs {
namespace {

// "socket 7 to 127.0.0.1:4711"; without the peer if it is unknown by now.
std::string name_of_connection(int socket, const char* direction, const sockaddr_storage* known_peer) {
  std::string name = "socket " + std::to_string(socket);
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (known_peer != nullptr) {
    peer = *known_peer;
  } else if (kernel::getpeername(socket, as_sockaddr(peer), &length) != 0) {
    return name;
  }
  const std::string text = text_of(peer);
  return text.empty() ? name : name + " " + direction + " " + text;
}

}  // namespace

void ConnectionSetup::drop_link() {
  shard().assert_held();
  link_->close();
  shard().destroy_later({std::move(link_), nullptr});
}

void ConnectionSetup::stop(Status /*why*/) {
  if (link_) drop_link();
}

Carrier ConnectionSetup::settle(Role taken, const proto::Agreement& agreement, const Reason& limit) {
  auto ends = std::make_unique<AddressPair>();
  if (!link_->addresses(ends->ours, ends->peers)) ends.reset();
  route().settled(shard(), taken, limit);
  tell_route(0, ends ? &ends->peers : peer());
  return {std::move(link_), taken, agreement, std::move(ends)};
}

void ConnectionSetup::tell_route(int error, const sockaddr_storage* peer) const {
  if (is_explaining()) tell(route().explanation(), name_of_connection(socket(), direction(), peer), error);
}

}  // namespace exs
