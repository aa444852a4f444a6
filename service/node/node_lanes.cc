// Lanes of a node's links, and the memory that they write.
// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/node.h"

namespace exs::svc {

int Node::trust(exs_svc_peer* peer, bool trusts, std::size_t return_max_bytes) {
  const std::lock_guard guard(*lock_);
  return peer->trust(trusts, return_max_bytes);
}

int Node::alloc_return(exs_svc_peer* peer, std::size_t length_bytes, void*& slot) {
  const std::lock_guard guard(*lock_);
  const int error = peer->alloc_return(length_bytes, lock_, slot);
  end_step();
  return error;
}

Link* Node::make_lane(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client) {
  auto made = std::make_unique<Link>(static_cast<LinkClient&>(*this), queue_, pool_, config_.silent_ms);
  if (made->connect_lane_of(link, flow, arena, client) != 0) return nullptr;
  Link* const lane = made.get();
  links_.emplace(lane, std::move(made));
  return lane;
}

void Node::lane_asked_for(Link& connection, const Hello& hello) {
  for (const auto& [link, owner] : links_) {
    if (link->is_initiator() || !link->is_up()) continue;
    const auto flow = link->flows.find(hello.flow);
    if (flow == link->flows.end() || !flow->second->takes_lane() ||
        lane_token(link->nonces(), hello.flow) != hello.nonce)
      continue;
    uncount_link(connection);
    return flow->second->take_lane(connection);
  }
  connection.refuse();
}

}  // namespace exs::svc
