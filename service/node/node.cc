// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/node.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "service/names/address.h"

namespace exs::svc {
namespace {

constexpr int kQueueDepth = 65536;
constexpr std::uint32_t kPoolBuffers = 256;
constexpr int kBacklog = 64;
constexpr std::int64_t kTryAgainNs = 20 * kNsPerMs;

}  // namespace

Node::Node(const Config& config) : config_(config) {}

int Node::open() {
  static const pid_t first_process = ::getpid();
  if (::getpid() != first_process) {  // the threads of exs and of the housekeeper belong to the parent
    why_ = "a parent of this process has opened nodes: exec, or open none before the fork";
    return EOPNOTSUPP;
  }
  if (exs_init(EXS_VERSION) != 0) return failed();
  has_library_ = true;
  queue_ = exs_qcreate(kQueueDepth);
  if (queue_ == EXS_QHANDLE_INVALID) return failed();
  if (const int error = make_pool(); error != 0) return error;
  windows_ = std::make_shared<WindowMemory>(config_.windows_max_bytes);
  if (const int error = listen(); error != 0) return error;
  keeper_ = Housekeeper::get();
  sink_ = std::make_shared<Sink>([queue = queue_] { return exs_qpost(queue, nullptr, nullptr) == 0; });
  return 0;
}

// Takes the error and its text from exs.
int Node::failed() {
  const int error = errno;
  why_ = exs_errtext();
  return error;
}

int Node::make_pool() {
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  pool_memory_ = exs_alloc(std::size_t{kPoolBuffers} * kFrameMax, &region);
  if (pool_memory_ == nullptr) return failed();
  pool_ = exs_pool_create(pool_memory_, kFrameMax, kPoolBuffers, region);
  return pool_ == EXS_PHANDLE_INVALID ? failed() : 0;
}

int Node::listen() {
  listener_ = make_link_socket(config_.listen.ss_family);
  if (listener_ >= 0) let_bulks_connect(listener_);
  sockaddr_storage bound = config_.listen;
  socklen_t length = sizeof bound;
  if (listener_ < 0 ||
      exs_bind(listener_, reinterpret_cast<const sockaddr*>(&bound), length_of(bound)) != 0 ||
      exs_listen(listener_, kBacklog) != 0 ||
      exs_getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &length) != 0 ||
      exs_accept(listener_, nullptr, EXS_MULTISHOT, queue_, &listener_) != 0)
    return failed();
  addresses_ = addresses_behind(bound);
  return addresses_.empty() ? EADDRNOTAVAIL : 0;
}

Node::~Node() {
  if (sink_ != nullptr) {
    sink_->close();
    keeper_->forget(sink_);
  }
  for (const auto& [id, service] : services_) Node::give_up_name(*service);
  for (const auto& heir : heirs_) Node::give_up_name(heir->door());
  {
    std::unique_lock guard(*lock_);
    for (const auto& move : moves_) move->abandon();
    for (const auto& [peer, owner] : peers_) peer->close();
    for (const auto& [id, service] : services_) service->stop_moving();
    for (const auto& [gone, service] : elsewhere_) service->stop_moving();
    for (const auto& heir : heirs_) heir->door().stop_moving();
    const auto is_moving = [](const auto& entry) { return entry.second->is_moving(); };
    move_until(guard, [&] {
      return std::none_of(services_.begin(), services_.end(), is_moving) &&
             std::none_of(elsewhere_.begin(), elsewhere_.end(), is_moving) &&
             std::none_of(peers_.begin(), peers_.end(), is_moving) &&
             std::none_of(heirs_.begin(), heirs_.end(),
                          [](const auto& heir) { return heir->door().is_moving(); });
    });
    heirs_.clear();
    services_.clear();
    elsewhere_.clear();
  }
  if (listener_ >= 0) exs_close(listener_);
  close_links();
  if (sink_ != nullptr) keeper_->forget(sink_);  // ending links may have set an alarm
  peers_.clear();
  moves_.clear();
  for (const exs_svc_event_t& event : events_) discard(event);
  if (pool_ != EXS_PHANDLE_INVALID) exs_pool_delete(pool_);
  if (pool_memory_ != nullptr) exs_free(pool_memory_);
  if (queue_ != EXS_QHANDLE_INVALID) exs_qdelete(queue_);
  memory_.clear();
  windows_.reset();
  if (has_library_) exs_fini();
}

// Sent frames still arrive, if the other ends take them.
void Node::close_links() {
  for (const auto& [link, owner] : links_) {
    link->flows.clear();
    link->end_gently();
  }
  while (!links_.empty()) {
    move_for_a_moment();
    for (const auto& [link, owner] : links_) link->end_gently();  // those accepted meanwhile
  }
}

// For phases in which no other thread waits.
void Node::move_for_a_moment() {
  exs_event_t event;
  const int count = exs_qwait(queue_, &event, 1, 1, kNsPerMs * 10);
  if (count == 1) take(event);
  look_at_clock();
  remove_gone();
}

// ---------------------------------------------------------------- services and peers

exs_svc* Node::open_service(Service::Config config) {
  const std::lock_guard guard(*lock_);
  config.node = this;
  config.node_lock = lock_;
  auto service = std::make_unique<exs_svc>(static_cast<ServiceHost&>(*this), std::move(config));
  const int error = take_name(*service);
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  exs_svc* const opened = service.get();
  services_.emplace(opened->id(), std::move(service));
  departures_.erase(opened->id());
  if (!opened->is_suspended()) tell_of(*opened, EXS_SVC_EVT_OPEN, 0);
  look_at_holds();
  end_step();
  return opened;
}

void Node::close_service(exs_svc* service) {
  std::unique_lock guard(*lock_);
  give_up_name(*service);
  end_moves_of(guard, service);
  move_until(guard, [service] {
    service->stop_moving();
    return !service->is_moving();
  });
  if (elsewhere_.erase(service) == 0) services_.erase(service->id());
  drop_events(service);
  end_step();
}

exs_svc_peer* Node::open_peer(exs_svc* from, const IdBytes& id, const std::optional<Capability>& capability,
                              void* handle) {
  const std::lock_guard guard(*lock_);
  Peer::Config config{this, id, {}, capability, number_, config_.find_ns, handle, {}};
  if (from != nullptr) config.from = from->key();
  auto peer = std::make_unique<exs_svc_peer>(static_cast<PeerHost&>(*this), std::move(config));
  exs_svc_peer* const opened = peer.get();
  peers_.emplace(opened, std::move(peer));
  return opened;
}

void Node::close_peer(exs_svc_peer* peer) {
  std::unique_lock guard(*lock_);
  peer->close();
  drop_events(peer);
  move_until(guard, [this, peer] { return !peers_.contains(peer) || !peer->is_moving(); });
  if (peers_.contains(peer)) peer->free_arena();
  end_step();
}

int Node::send(exs_svc_peer* peer, const Data& data, Transfer::Pieces longs, void* handle) {
  const std::lock_guard guard(*lock_);
  const int error = peer->send(data, std::move(longs), handle);
  end_step();
  return error;
}

int Node::request(exs_svc_peer* peer, const Data& data, Peer::Asked asked) {
  const std::lock_guard guard(*lock_);
  const int error = peer->request(data, std::move(asked));
  end_step();
  return error;
}

int Node::cancel(exs_svc_peer* peer, const void* handle) {
  const std::lock_guard guard(*lock_);
  const int error = peer->cancel(handle);
  end_step();
  return error;
}

int Node::ping(exs_svc_peer* peer) {
  const std::lock_guard guard(*lock_);
  const int error = peer->ping();
  end_step();
  return error;
}

int Node::ask_stats(exs_svc_peer* peer) {
  const std::lock_guard guard(*lock_);
  const int error = peer->ask_stats();
  end_step();
  return error;
}

void Node::add_window(exs_svc* service, const Window& window) {
  const std::lock_guard guard(*lock_);
  service->add_window(window);
}

int Node::reply(const exs_svc_message_t* message, Data data, Transfer::Pieces longs, void* handle) {
  const std::optional<CallName>& name = call_of(message);
  const std::lock_guard guard(*mailbox_of(message)->lock);
  Service* const service = mailbox_of(message)->service;
  if (service == nullptr) return ECANCELED;
  data.call = name->call;
  service->node().look_at_fences();
  const int error = service->reply(*name, data, std::move(longs), handle);
  service->node().end_step();
  return error;
}

// The sender of an unanswered request is notified, if there is memory for that.
void Node::release(exs_svc_message_t* message) noexcept {
  OwnedMessage owned(message);
  const std::shared_ptr<Mailbox> mailbox = mailbox_of(message);
  const bool is_request = call_of(message).has_value();
  if (!is_request) owned.reset();
  if (mailbox == nullptr || (!is_request && !mailbox->is_frozen)) return;
  const std::lock_guard guard(*mailbox->lock);
  if (mailbox->service == nullptr) return;
  try {
    // A move waits for the release of the message, and has to find its request answered then.
    if (is_request) mailbox->service->leave_unanswered(*call_of(message));
    owned.reset();
    mailbox->service->node().end_step();
  } catch (const std::bad_alloc&) {
  }
}

// ---------------------------------------------------------------- links

// This also makes links to the node itself: a peer need not know where its service is.
Link* Node::link_to(const sockaddr_storage& address, Silences silences) {
  const auto known = links_by_address_.find(key_of(address));
  if (known != links_by_address_.end()) {
    known->second->be_patient(silences.mistakes);
    return known->second;
  }
  auto made = std::make_unique<Link>(static_cast<LinkClient&>(*this), queue_, pool_, config_.silent_ms);
  made->be_patient(silences.mistakes);
  if (const int error = made->connect(address, connect_limit_ms(address, silences)); error != 0) {
    errno = error;
    return nullptr;
  }
  Link* const link = made.get();
  links_.emplace(link, std::move(made));
  links_by_address_.emplace(link->address_key(), link);
  return link;
}

// A starved process of this host needs a longer limit to get its part done.
int Node::connect_limit_ms(const sockaddr_storage& address, Silences silences) const {
  const bool is_starved = silences.connects > 0 && is_of_this_host(address);
  return std::max(config_.silent_ms / 2, 1) << (is_starved ? silences.connects : silences.mistakes);
}

// A multishot accept ends only for want of memory.
void Node::accepted(const exs_event_t& event) {
  if ((event.exs_evt_flags & EXS_EVF_MORE) == 0 && event.exs_evt_errno != ECANCELED) accept_again();
  const int socket = event.exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  if (event.exs_evt_errno != 0 || socket < 0) return;
  Link* link = nullptr;
  try {
    auto made = std::make_unique<Link>(static_cast<LinkClient&>(*this), queue_, pool_, config_.silent_ms);
    link = made.get();
    links_.emplace(link, std::move(made));
  } catch (const std::bad_alloc&) {
    return close_at_once(socket);
  }
  const int error = link->accept(socket);
  if (!count_link(*link) || error != 0) link->end();
}

void Node::accept_again() noexcept {
  const bool accepts = exs_accept(listener_, nullptr, EXS_MULTISHOT, queue_, &listener_) == 0;
  accept_again_ns_ = accepts ? kNever : after(now_ns(), kTryAgainNs);
  if (!accepts) wake_soon();
}

// Returns false if the link exceeds a limit.
bool Node::count_link(const Link& link) {
  const std::size_t of_host = ++links_of_hosts_[principal_of({}, link.host())];
  return ++accepted_links_ <= config_.links_max && of_host <= config_.links_each_max;
}

void Node::uncount_link(const Link& link) {
  --accepted_links_;
  const auto of_host = links_of_hosts_.find(principal_of({}, link.host()));
  if (of_host != links_of_hosts_.end() && --of_host->second == 0) links_of_hosts_.erase(of_host);
}

void Node::link_is_up(Link& link) {
  if (!link.is_initiator()) return;
  std::vector<Peer*> waiting;
  for (const auto& [alias, peer] : link.peers) waiting.push_back(peer);
  for (Peer* const peer : waiting) peer->link_is_up();
}

void Node::bulk_wanted(Link& link) {
  auto made = std::make_unique<Link>(static_cast<LinkClient&>(*this), queue_, pool_, config_.silent_ms);
  if (made->connect_bulk_of(link) != 0) return link.end();
  Link* const bulk = made.get();
  links_.emplace(bulk, std::move(made));
}

void Node::bulk_asked_for(Link& connection, const Nonce& token) {
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

void Node::link_has_gone(Link& link) {
  const auto known = links_by_address_.find(link.address_key());
  if (known != links_by_address_.end() && known->second == &link) links_by_address_.erase(known);
  if (!link.is_initiator()) uncount_link(link);
  for (const auto& [alias, flow] : std::exchange(link.flows, {})) flow->service().link_has_gone(*flow);
  for (const auto& [alias, peer] : std::exchange(link.peers, {})) peer->link_has_gone(link.error());
  if (link.bulk() != nullptr) gone_.push_back(link.bulk());
  gone_.push_back(&link);
}

void Node::frame_arrived(Link& link, const Header& header, Bytes frame) {
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
  if (service == nullptr) return send_elsewhere(link, header.flow, asked->target);
  if (service->is_suspended()) {
    std::array<std::uint8_t, kHeaderBytes + 4> room;
    return link.send(encode_flow_no(room, header.flow, 0, Refusal::kNoRoom));
  }
  service->admit(link, header.flow, *asked, header.ack);
}

// ---------------------------------------------------------------- steps

void Node::end_step() {
  if (!moves_.empty() || !heirs_.empty()) go_on_with_moves();
  debts_.pay();
  remove_gone();
  show();
}

void Node::has_ended(Peer& peer) {
  ended_.push_back(&peer);
}

void Node::remove_gone() {
  for (Peer* const peer : ended_) peers_.erase(peer);
  ended_.clear();
  for (Link* const link : gone_) links_.erase(link);
  gone_.clear();
  remove_ended_moves();  // their peers have gone
}

}  // namespace exs::svc
