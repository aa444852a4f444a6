// Lanes of a node's links, and the memory that they write.
// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/node.h"

namespace exs::svc {

Status Node::trust(exs_svc_peer* peer, bool trusts, std::size_t return_max_bytes) {
  const LockGuard guard(lock_);
  return peer->trust(trusts, return_max_bytes);
}

Result<void*> Node::alloc_return(exs_svc_peer* peer, std::size_t length_bytes) {
  const LockGuard guard(lock_);
  Result<void*> slot = peer->alloc_return(length_bytes, shared_lock_);
  end_step();
  return slot;
}

Link* Node::make_lane(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client) {
  lock_.assert_held();
  Link& lane = new_link();
  const Status begun = begin_link(lane, [&] { return lane.connect_lane_of(link, flow, arena, client); });
  return begun.ok() ? &lane : nullptr;
}

void Node::lane_asked_for(Link& connection, const Hello& hello) {
  lock_.assert_held();
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
