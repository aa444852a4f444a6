// Links of a node: made, accepted, counted, and gone.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <new>

#include "base/check.h"
#include "base/contain.h"
#include "base/room.h"
#include "service/names/address.h"
#include "service/node/node.h"

namespace exs::svc {
namespace {

constexpr std::uint64_t kAcceptAgainNs = 20 * kNsPerMs;

}  // namespace

// This also makes links to the node itself: a peer need not know where its service is.
Result<Link*> Node::link_to(const sockaddr_storage& address, Silences silences) {
  lock_.assert_held();
  const auto known = links_by_address_.find(key_of(address));
  if (known != links_by_address_.end()) {
    known->second->be_patient(silences.mistakes);
    return known->second;
  }
  Link& link = new_link();
  link.be_patient(silences.mistakes);
  if (const Status begun =
          begin_link(link, [&] { return link.connect(address, connect_limit_ms(address, silences)); });
      !begun.ok())
    return failure(begun);
  try {
    links_by_address_.emplace(link.address_key(), &link);
  } catch (const std::bad_alloc&) {
    link.end(ENOMEM);
    throw;
  }
  return &link;
}

// The node has a link before exs knows it: its events come until it has gone.
Link& Node::new_link() {
  auto made = std::make_unique<Link>(static_cast<LinkClient&>(*this), queue_, pool_, config_.silent_ms);
  Link& link = *made;
  make_room(gone_, links_.size() + 1);
  links_.emplace(&link, std::move(made));
  return link;
}

// A starved process of this host needs a longer limit to get its part done.
int Node::connect_limit_ms(const sockaddr_storage& address, Silences silences) const {
  const bool is_starved = silences.connects > 0 && is_own_address(*as_sockaddr(address));
  return std::max(config_.silent_ms / 2, 1) << (is_starved ? silences.connects : silences.mistakes);
}

// A multishot accept ends only for want of memory.
void Node::accepted(const exs_event_t& event) {
  if ((event.exs_evt_flags & EXS_EVF_MORE) == 0 && event.exs_evt_errno != ECANCELED) accept_again();
  const int socket = event.exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  if (event.exs_evt_errno != 0 || socket < 0) return;
  std::unique_ptr<Link> made;
  try {
    made = std::make_unique<Link>(static_cast<LinkClient&>(*this), queue_, pool_, config_.silent_ms);
    make_room(gone_, links_.size() + 1);
    links_.reserve(links_.size() + 1);  // so that emplace() throws before it takes the link
  } catch (const std::bad_alloc&) {
    return close_at_once(socket);
  }
  const Status owned = made->own(socket);  // the link closes it from now on
  const bool has_room = count_link(*made);
  Link& link = *made;
  try {
    links_.emplace(&link, std::move(made));
  } catch (const std::bad_alloc&) {
    uncount_link(link);
    throw;
  }
  try {
    if (!owned.ok() || !has_room || !link.accept().ok()) link.end();
  } catch (const std::bad_alloc&) {
    link.end();
  }
}

void Node::accept_again() noexcept {
  const bool accepts = exs_accept(listener_, nullptr, EXS_MULTISHOT, queue_, &listener_) == 0;
  accept_again_ns_ = accepts ? kNeverNs : time_after(boottime_ns(), kAcceptAgainNs);
  if (!accepts) wake_soon();
}

// Returns false if the link exceeds a limit.
bool Node::count_link(const Link& link) {
  const std::size_t of_host = ++links_of_hosts_[principal_of({}, link.host())];
  return ++accepted_links_ <= config_.links_max && of_host <= config_.links_each_max;
}

void Node::uncount_link(const Link& link) {
  const auto of_host = links_of_hosts_.find(principal_of({}, link.host()));
  EXS_CHECK(accepted_links_ > 0 && of_host != links_of_hosts_.end() && of_host->second > 0);
  --accepted_links_;
  if (--of_host->second == 0) links_of_hosts_.erase(of_host);
}

void Node::link_is_up(Link& link) {
  if (!link.is_initiator()) return;
  std::vector<Peer*> waiting;
  for (const auto& [alias, peer] : link.peers) waiting.push_back(peer);
  for (Peer* const peer : waiting) peer->link_is_up();
}

void Node::bulk_wanted(Link& link) {
  lock_.assert_held();
  Link& bulk = new_link();
  if (!begin_link(bulk, [&] { return bulk.connect_bulk_of(link); }).ok()) link.end();
}

void Node::bulk_asked_for(Link& connection, const Nonce& token) {
  lock_.assert_held();
  for (const auto& [link, owner] : links_) {
    if (link->is_initiator() || link->bulk() != nullptr || !link->is_up() || link->token() != token) continue;
    uncount_link(connection);
    return connection.become_bulk_of(*link);
  }
  connection.refuse();
}

void Node::bulk_is_up(Link& link) {
  send_all_of(link);
}

void Node::send_all_of(Link& link) {
  for (const auto& [alias, flow] : link.flows) flow->send_all();
  for (const auto& [alias, peer] : link.peers) peer->send_all();
}

void Node::lane_has_gone(Link& lane) {
  lock_.assert_held();
  gone_.push_back(&lane);
}

void Node::link_has_gone(Link& link) {
  lock_.assert_held();
  const auto known = links_by_address_.find(link.address_key());
  if (known != links_by_address_.end() && known->second == &link) links_by_address_.erase(known);
  if (!link.is_initiator()) uncount_link(link);
  for (const auto& [alias, flow] : std::exchange(link.flows, {})) flow->service().link_has_gone(*flow);
  for (const auto& [alias, peer] : std::exchange(link.peers, {}))
    contain([&] { peer->link_has_gone(link.error()); }, [&] { peer->out_of_memory(); });
  if (link.bulk() != nullptr) gone_.push_back(link.bulk());
  gone_.push_back(&link);
}

void Node::frame_arrived(Link& link, const Header& header, Bytes frame) {
  lock_.assert_held();
  if (link.is_initiator()) {
    frame_of_peer(link, header, frame);
  } else if (header.type == FrameType::kFlow) {
    ask_for_flow(link, header, frame);
  } else if (const auto flow = link.flows.find(header.flow); flow != link.flows.end()) {
    flow->second->frame_arrived(header, frame);
  }
  if (link.is_up() && link.had_no_room()) send_all_of(link);  // there is room now
}

// Frames of a flow that has ended here may still arrive; they are dropped.
void Node::frame_of_peer(Link& link, const Header& header, Bytes frame) {
  const auto peer = link.peers.find(header.flow);
  if (peer != link.peers.end()) peer->second->frame_arrived(header, frame);
}

void Node::ask_for_flow(Link& link, const Header& header, Bytes frame) {
  const std::optional<Flow> asked = decode_flow(frame, header);
  if (!asked || link.flows.contains(header.flow)) return link.refuse();
  exs_svc* const service = find_here(asked->target);
  const bool has_room = link.flows.size() < config_.flows_max;
  if (!has_room) {
    std::array<std::uint8_t, kHeaderBytes + 4> room;
    return link.send(encode_flow_no(room, header.flow, 0, Refusal::kTooMany));
  }
  if (service == nullptr) return redirect(link, header.flow, asked->target);
  if (service->is_suspended()) {
    std::array<std::uint8_t, kHeaderBytes + 4> room;
    return link.send(encode_flow_no(room, header.flow, 0, Refusal::kNoRoom));
  }
  service->admit(link, header.flow, *asked, header.ack);
}

}  // namespace exs::svc
