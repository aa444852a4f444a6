// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/node.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/kernel.h"
#include "base/refusal.h"
#include "base/room.h"
#include "service/names/address.h"

namespace exs::svc {
namespace {

constexpr int kQueueDepth = 65536;
constexpr std::uint32_t kPoolBuffers = 256;
constexpr int kBacklog = 64;
constexpr std::int64_t kMomentNs = 10 * kNsPerMs;

// The error of the last call of exs, with its text.
Status error_of_exs() {
  const int error = errno;
  return refuse_in_words(error, exs_errtext());
}

}  // namespace

Node::Node(const Config& config) : config_(config) {}

Status Node::open() {
  static const pid_t first_process = kernel::getpid();
  if (kernel::getpid() != first_process)  // the threads of exs and of the name service belong to the parent
    return refuse(EOPNOTSUPP,
                  "a parent of this process has opened nodes: exec, or open none before the fork");
  if (exs_init(EXS_VERSION) != 0) return error_of_exs();
  has_library_ = true;
  queue_ = exs_qcreate(kQueueDepth);
  if (queue_ == EXS_QHANDLE_INVALID) return error_of_exs();
  if (const Status made = make_pool(); !made.ok()) return made;
  windows_ = std::make_shared<WindowMemory>(config_.windows_max_bytes);
  if (const Status listens = listen(); !listens.ok()) return listens;
  names_ = NameService::get();
  sink_ = std::make_shared<Sink>([queue = queue_] { return exs_qpost(queue, nullptr, nullptr) == 0; });
  names_->ring_at(kNeverNs, sink_);  // from now on an alarm needs no memory
  return {};
}

Status Node::make_pool() {
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  pool_memory_ = exs_alloc(std::size_t{kPoolBuffers} * kFrameMax, &region);
  if (pool_memory_ == nullptr) return error_of_exs();
  pool_ = exs_pool_create(pool_memory_, kFrameMax, kPoolBuffers, region);
  return pool_ == EXS_PHANDLE_INVALID ? error_of_exs() : Status();
}

Status Node::listen() {
  listener_ = make_link_socket(config_.listen.ss_family);
  if (listener_ >= 0) let_bulks_connect(listener_);
  sockaddr_storage bound = config_.listen;
  socklen_t length = sizeof bound;
  if (listener_ < 0 || exs_bind(listener_, as_sockaddr(bound), address_bytes(bound)) != 0 ||
      exs_listen(listener_, kBacklog) != 0 || exs_getsockname(listener_, as_sockaddr(bound), &length) != 0 ||
      exs_accept(listener_, nullptr, EXS_MULTISHOT, queue_, &listener_) != 0)
    return error_of_exs();
  addresses_ = addresses_behind(bound);
  return addresses_.empty() ? Status(EADDRNOTAVAIL) : Status();
}

Node::~Node() {
  if (sink_ != nullptr) {
    sink_->close();
    names_->forget(sink_);
  }
  {
    const LockGuard guard(lock_);
    for (const auto& [id, service] : services_) Node::give_up_name(*service);
    for (const auto& adopter : adopters_) Node::give_up_name(adopter->endpoint());
    for (const auto& move : moves_) move->abandon();
    for (const auto& [peer, owner] : peers_) peer->close();
    for (const auto& [id, service] : services_) service->stop_moving();
    for (const auto& [gone, service] : departed_) service->stop_moving();
    for (const auto& adopter : adopters_) adopter->endpoint().stop_moving();
    move_until([this]() EXS_REQUIRES(lock_) { return !is_moving(); });
    adopters_.clear();
    services_.clear();
    departed_.clear();
  }
  if (listener_ >= 0) exs_close(listener_);
  close_links();
  if (sink_ != nullptr) names_->forget(sink_);  // ending links may have set an alarm
  {
    const LockGuard guard(lock_);
    peers_.clear();
    moves_.clear();
    for (const exs_svc_event_t& event : events_) discard(event);
  }
  if (pool_ != EXS_PHANDLE_INVALID) exs_pool_delete(pool_);
  if (pool_memory_ != nullptr) exs_free(pool_memory_);
  if (queue_ != EXS_QHANDLE_INVALID) exs_qdelete(queue_);
  memory_.clear();
  windows_.reset();
  if (has_library_) exs_fini();
}

// Exs is using memory of the program.
bool Node::is_moving() const {
  const auto is_one = [](const auto& entry) { return entry.second->is_moving(); };
  return std::any_of(services_.begin(), services_.end(), is_one) ||
         std::any_of(departed_.begin(), departed_.end(), is_one) ||
         std::any_of(peers_.begin(), peers_.end(), is_one) ||
         std::any_of(adopters_.begin(), adopters_.end(),
                     [](const auto& adopter) { return adopter->endpoint().is_moving(); });
}

// Sent frames still arrive, if the other ends take them. Links may be accepted meanwhile.
void Node::close_links() {
  {
    const LockGuard guard(lock_);
    for (const auto& [link, owner] : links_) link->flows.clear();
  }
  while (end_links_gently()) move_for_a_moment();
}

// Returns false if there is none.
bool Node::end_links_gently() {
  const LockGuard guard(lock_);
  for (const auto& [link, owner] : links_) link->end_gently();
  return !links_.empty();
}

// For phases in which no other thread waits.
void Node::move_for_a_moment() {
  exs_event_t event;
  const int count = exs_qwait(queue_, &event, 1, 1, kMomentNs);
  const LockGuard guard(lock_);
  if (count == 1) take(event);
  run_timers();
  remove_gone();
}

// ---------------------------------------------------------------- services and peers

Result<exs_svc*> Node::open_service(Service::Config config) {
  const LockGuard guard(lock_);
  config.node = this;
  config.node_lock = shared_lock_;
  auto made = std::make_unique<exs_svc>(static_cast<ServiceHost&>(*this), std::move(config));
  exs_svc* const opened = made.get();
  if (services_.contains(opened->id())) return failure(EADDRINUSE);
  services_.emplace(opened->id(), std::move(made));
  try {
    if (const Status taken = take_name(*opened); !taken.ok()) {
      services_.erase(opened->id());
      return failure(taken);
    }
    redirects_.erase(opened->id());
    if (!opened->is_suspended()) report_of(*opened, EXS_SVC_EVT_OPEN, 0);
    check_leases();
    end_step();
  } catch (const std::bad_alloc&) {
    forget_opened(*opened);
    throw;
  }
  return opened;
}

// There was no memory to open it. The program has not seen it.
void Node::forget_opened(exs_svc& service) {
  give_up_name(service);
  drop_events(&service);
  services_.erase(service.id());
}

void Node::close_service(exs_svc* service) {
  const LockGuard guard(lock_);
  give_up_name(*service);
  end_moves_of(service);
  move_until([service] {
    service->stop_moving();
    return !service->is_moving();
  });
  if (departed_.erase(service) == 0) services_.erase(service->id());
  drop_events(service);
  end_step();
}

exs_svc_peer* Node::open_peer(exs_svc* from, const IdBytes& id, const std::optional<Capability>& capability,
                              void* handle) {
  const LockGuard guard(lock_);
  Peer::Config config{this, id, {}, capability, number_, config_.find_ns, handle, {}};
  if (from != nullptr) config.from = from->key();
  auto peer = std::make_unique<exs_svc_peer>(static_cast<PeerHost&>(*this), std::move(config));
  exs_svc_peer* const opened = peer.get();
  make_room(ended_, peers_.size() + 1);
  peers_.emplace(opened, std::move(peer));
  return opened;
}

void Node::close_peer(exs_svc_peer* peer) {
  const LockGuard guard(lock_);
  peer->close();
  drop_events(peer);
  move_until([this, peer]() EXS_REQUIRES(lock_) { return !peers_.contains(peer) || !peer->is_moving(); });
  if (peers_.contains(peer)) peer->free_arena();
  end_step();
}

Status Node::send(exs_svc_peer* peer, const Data& data, Transfer::Pieces longs, void* handle) {
  const LockGuard guard(lock_);
  const Status done = peer->send(data, std::move(longs), handle);
  end_step();
  return done;
}

Status Node::request(exs_svc_peer* peer, const Data& data, Peer::Asked asked) {
  const LockGuard guard(lock_);
  const Status done = peer->request(data, std::move(asked));
  end_step();
  return done;
}

Status Node::cancel(exs_svc_peer* peer, const void* handle) {
  const LockGuard guard(lock_);
  const Status done = peer->cancel(handle);
  end_step();
  return done;
}

Status Node::ping(exs_svc_peer* peer) {
  const LockGuard guard(lock_);
  const Status done = peer->ping();
  end_step();
  return done;
}

Status Node::ask_stats(exs_svc_peer* peer) {
  const LockGuard guard(lock_);
  const Status done = peer->ask_stats();
  end_step();
  return done;
}

void Node::add_window(exs_svc* service, const Window& window) {
  const LockGuard guard(lock_);
  service->add_window(window);
}

Status Node::reply(const exs_svc_message_t* message, Data data, Transfer::Pieces longs, void* handle) {
  const std::optional<CallName>& name = call_of(message);
  const std::shared_ptr<Mailbox> mailbox = mailbox_of(message);
  const LockGuard guard(*mailbox->lock);
  Service* const service = mailbox->service;
  if (service == nullptr) return Status(ECANCELED);
  data.call = name->call;
  Node& node = service->node();
  node.lock_.assert_held();  // the mailbox has the node's
  node.check_fences();
  const Status done = service->reply(*name, data, std::move(longs), handle);
  node.end_step();
  return done;
}

// The sender of an unanswered request is notified, if there is memory for that.
void Node::release(exs_svc_message_t* message) noexcept {
  OwnedMessage owned(message);
  const std::shared_ptr<Mailbox> mailbox = mailbox_of(message);
  const bool is_request = call_of(message).has_value();
  if (!is_request) owned.reset();
  if (mailbox == nullptr || (!is_request && !mailbox->is_frozen)) return;
  const LockGuard guard(*mailbox->lock);
  if (mailbox->service == nullptr) return;
  Node& node = mailbox->service->node();
  node.lock_.assert_held();
  try {
    // A move waits for the release of the message, and has to find its request answered then.
    if (is_request) mailbox->service->leave_unanswered(*call_of(message));
    owned.reset();
    node.end_step();
  } catch (const std::bad_alloc&) {
  }
}

// ---------------------------------------------------------------- steps

void Node::end_step() {
  if (!moves_.empty() || !adopters_.empty())
    contain([this]() EXS_REQUIRES(lock_) { go_on_with_moves(); },
            [this]() EXS_REQUIRES(lock_) { wake_soon(); });
  pending_acks_.flush();
  remove_gone();
  show();
}

void Node::has_ended(Peer& peer) {
  lock_.assert_held();
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
