// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/hub.h"

#include <netinet/in.h>
#include <pthread.h>
#include <rpc/svc_mt.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/no_signals.h"
#include "base/socket_address.h"
#include "rpc/channel/close_socket.h"
#include "rpc/channel/open_socket.h"
#include "rpc/channel/process.h"
#include "rpc/channel/wait_again.h"
#include "rpc/channel/wake_up.h"
#include "rpc/sunrpc/settings.h"

namespace exs::rpc {
namespace {

constexpr std::int64_t kLookNs = 50'000;        // the wait for another request
constexpr std::uint64_t kInARowNs = 1'000'000;  // until the program's loop gets its turn
constexpr unsigned kThreadsMax = 256;
constexpr int kPendingMax = 64;  // replies that a client leaves unread
constexpr int kBacklog = 256;
constexpr exs_ahandle_t kAccepts = nullptr;

bool is_stream(int descriptor) {
  int type = 0;
  socklen_t length = sizeof type;
  return kernel::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

// The address of the server's end of the connection. A connection that is not of IP gives the host's loopback address.
bool local_address(int descriptor, sockaddr_storage& address, socklen_t& length) {
  length = sizeof address;
  if (kernel::getsockname(descriptor, as_sockaddr(address), &length) != 0) return false;
  if (address_bytes(*as_sockaddr(address)) == 0) {
    address = v4_address({htonl(INADDR_LOOPBACK)}, 0);
    length = sizeof(sockaddr_in);
  }
  port_of(address) = 0;
  return true;
}

}  // namespace

Hub& Hub::instance() {
  alignas(Hub) static std::byte place[sizeof(Hub)];
  static Hub& hub = *new (place) Hub;  // transports of the program may outlive all statics
  return hub;
}

bool Hub::start() {
  if (queue_ != EXS_QHANDLE_INVALID) return is_own_process();
  if (!start_library().ok()) return false;
  queue_ = exs_qcreate(kFirstDepth);
  if (queue_ == EXS_QHANDLE_INVALID) return false;
  depth_ = kFirstDepth;
  register_transport();
  start_workers();
  return true;
}

// libtirpc calls serve() when the queue's descriptor is readable.
void Hub::register_transport() {
  static SVCXPRT_EXT extension{};
  static char name[] = "exs";
  static const std::remove_pointer_t<decltype(transport_.xp_ops)> operations = {
      receive,
      [](SVCXPRT*) { return XPRT_IDLE; },
      [](SVCXPRT*, xdrproc_t, void*) { return FALSE; },
      [](SVCXPRT*, rpc_msg*) { return FALSE; },
      [](SVCXPRT*, xdrproc_t, void*) { return FALSE; },
      destroy};
  static const std::remove_pointer_t<decltype(transport_.xp_ops2)> more = {
      [](SVCXPRT*, const u_int, void*) { return FALSE; }};
  transport_.xp_fd = exs_qfd(queue_);
  transport_.xp_ops = &operations;
  transport_.xp_ops2 = &more;
  transport_.xp_netid = name;
  transport_.xp_p3 = &extension;
  xprt_register(&transport_);
}

Status Hub::use_threads(unsigned threads) {
  if (threads > kThreadsMax) return Status(EINVAL);
  if (queue_ != EXS_QHANDLE_INVALID) return Status(EBUSY);
  threads_ = threads;
  return {};
}

// Starts as many as possible: if none starts, the program's thread serves all. The program keeps its signals.
void Hub::start_workers() {
  const NoSignals signals;
  while (workers_.size() < threads_ && start_worker()) continue;
}

bool Hub::start_worker() try {
  auto worker = std::make_unique<HubWorker>();
  workers_.reserve(workers_.size() + 1);  // before the thread uses the worker
  worker->queue = exs_qcreate(kFirstDepth);
  pthread_t thread{};
  if (worker->queue == EXS_QHANDLE_INVALID) return false;
  if (pthread_create(&thread, nullptr, work, worker.get()) != 0) {
    exs_qdelete(worker->queue);
    return false;
  }
  pthread_detach(thread);
  workers_.push_back(std::move(worker));
  has_threads_ = true;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

// Runs until the process ends, because the links of its queue have no other thread.
void* Hub::work(void* worker) {
  constexpr int kEvents = 16;
  std::array<exs_event_t, kEvents> events;
  const exs_qhandle_t queue = static_cast<HubWorker*>(worker)->queue;
  for (;;) {
    const int count = exs_qwait(queue, events.data(), kEvents, 1, -1);
    if (count < 0 && !may_wait_again()) return nullptr;
    for (int i = 0; i < count; ++i) instance().take_event(events[static_cast<std::size_t>(i)]);
  }
}

std::size_t Hub::idlest_worker() {
  if (workers_.empty()) return kNoWorker;
  for (const auto& worker : workers_) worker->links = 0;
  for (const LinkPlace& place : places_)
    if (place.transport != nullptr && place.worker != kNoWorker) ++workers_[place.worker]->links;
  const auto has_fewer = [](const auto& one, const auto& other) { return one->links < other->links; };
  return static_cast<std::size_t>(std::min_element(workers_.begin(), workers_.end(), has_fewer) -
                                  workers_.begin());
}

bool Hub::pass_on(ServerTransport& transport) {
  if (!transport.has_gss_request()) return false;
  const HubTurn turn(*this);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    LinkPlace& place = places_[i];
    if (place.transport.get() != &transport || place.worker == kNoWorker) continue;
    if (exs_qpost(queue_, handle_of(i), nullptr) != 0) return false;
    place.worker = kNoWorker;
    transport.link()->use_queue(queue_, handle_of(i));
    return true;
  }
  return false;
}

OfferAnswer Hub::answer(SVCXPRT* transport, const LinkOffer& offer) {
  OfferAnswer answer{};
  const auto refuse = [&](OfferRefusal reason) {
    answer.reason = reason;
    return answer;
  };
  if (settings().use == LinkUse::kOff) return refuse(OfferRefusal::kOff);
  if (offer.kind != static_cast<std::uint32_t>(OfferKind::kSunRpc) || offer.version < kLinkVersion ||
      offer.inline_bytes < kInlineBytes)
    return refuse(OfferRefusal::kVersion);
  if (!is_stream(transport->xp_fd)) return refuse(OfferRefusal::kNoStream);
  if (!has_descriptors()) return refuse(OfferRefusal::kNoDescriptors);
  const HubTurn turn(*this);
  const HubListener* const listener = start() ? listener_for(transport) : nullptr;
  if (listener == nullptr) return refuse(OfferRefusal::kNoSocket);
  ServerTransport& ours = ServerTransport::of(transport, *this);
  if (ours.link() != nullptr || !add_token(ours, answer.token)) return refuse(OfferRefusal::kNoSocket);
  answer.version = kLinkVersion;
  answer.port = listener->port;
  answer.inline_bytes = kInlineBytes;
  answer.longest = kLongestCall;
  return answer;
}

const Hub::HubListener* Hub::listener_for(SVCXPRT* transport) {
  HubListener made{};
  if (!local_address(transport->xp_fd, made.address, made.length)) return nullptr;
  for (HubListener& known : listeners_) {
    if (known.length != made.length || std::memcmp(&known.address, &made.address, made.length) != 0) continue;
    known.accepts = known.accepts || post_accept(known);
    return known.accepts ? &known : nullptr;
  }
  return listen_at(made);
}

const Hub::HubListener* Hub::listen_at(HubListener made) {
  listeners_.reserve(listeners_.size() + 1);  // before the socket takes its port
  made.socket = open_socket(made.address.ss_family, "sunrpc");
  if (made.socket < 0) return nullptr;
  sockaddr_storage bound = made.address;
  port_of(bound) = htons(settings().port);
  socklen_t length = made.length;
  constexpr std::size_t kSmall = kFrameBytes + kInlineBytes;
  constexpr int kOperationsMax = kPendingMax;
  exs_fcntl(made.socket, EXS_F_SET_SMALL_MAX, kSmall);
  exs_fcntl(made.socket, EXS_F_SET_MAX_OPS, kOperationsMax);
  sockaddr* const address = as_sockaddr(bound);
  if (exs_bind(made.socket, address, length) != 0 || exs_listen(made.socket, kBacklog) != 0 ||
      exs_getsockname(made.socket, address, &length) != 0 || !post_accept(made)) {
    close_socket(made.socket);
    return nullptr;
  }
  made.accepts = true;
  made.port = port_number(bound);
  listeners_.push_back(made);
  return &listeners_.back();
}

bool Hub::post_accept(const HubListener& listener) const {
  return exs_accept(listener.socket, nullptr, EXS_MULTISHOT, queue_, kAccepts) == 0;
}

void Hub::forget(const ServerTransport& transport) {
  const HubTurn turn(*this);
  const auto is_its = [&](const LinkToken& token) { return token.transport == &transport; };
  tokens_.erase(std::remove_if(tokens_.begin(), tokens_.end(), is_its), tokens_.end());
  for (LinkPlace& place : places_) {
    if (place.transport.get() != &transport) continue;
    place.transport = nullptr;
    ++place.generation;
  }
}

bool_t Hub::receive(SVCXPRT* /*transport*/, rpc_msg* /*message*/) {
  instance().serve();
  return FALSE;
}

// The program ends all its transports; links are not served any more.
void Hub::destroy(SVCXPRT* transport) {
  xprt_unregister(transport);
}

void Hub::serve() {
  if (!is_own_process()) return xprt_unregister(&transport_);
  constexpr int kEvents = 64;
  std::array<exs_event_t, kEvents> events;
  const std::uint64_t begun = monotonic_ns();
  std::int64_t look_ns = 0;
  for (;;) {
    const int count = exs_qwait(queue_, events.data(), kEvents, 1, look_ns);
    if (count <= 0) break;
    for (int i = 0; i < count; ++i) take_event(events[static_cast<std::size_t>(i)]);
    look_ns = kLookNs;
    if (monotonic_ns() - begun < kInARowNs) continue;
    wake_up(queue_, kAccepts);  // makes the program's loop come back here after its turn
    break;
  }
  drop_late_strangers();
}

exs_ahandle_t Hub::handle_of(std::size_t index) const {
  const std::uint64_t word = (std::uint64_t{places_[index].generation} << 32U) | (index + 1);
  return reinterpret_cast<exs_ahandle_t>(word);  // NOLINT(performance-no-int-to-ptr): a handle is a word
}
Hub::LinkPlace* Hub::place_of(exs_ahandle_t handle) {
  const auto word = reinterpret_cast<std::uint64_t>(handle);
  const std::size_t index = (word & UINT32_MAX) - 1;
  if (index >= places_.size() || places_[index].generation != word >> 32U) return nullptr;
  return &places_[index];
}

void Hub::take_event(const exs_event_t& event) {
  const std::shared_ptr<ServerTransport> transport = take_own_event(event);
  if (transport != nullptr) transport->take_event(event);
}

// Returns the transport whose event this is; NULL: it was the hub's own.
std::shared_ptr<ServerTransport> Hub::take_own_event(const exs_event_t& event) {
  const HubTurn turn(*this);
  if (event.exs_evt_type == EXS_EVT_ACCEPT) {
    take_accept(event);
    return nullptr;
  }
  LinkPlace* const place = event.exs_evt_ahandle == kAccepts ? nullptr : place_of(event.exs_evt_ahandle);
  if (place == nullptr || place->stranger == nullptr) return place == nullptr ? nullptr : place->transport;
  take_event_of_stranger(*place, event);
  return nullptr;
}

// An accept ends only for want of memory. The next offer posts it again.
void Hub::take_accept(const exs_event_t& event) {
  if (event.exs_evt_errno == 0) accept_link(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
  if ((event.exs_evt_flags & EXS_EVF_MORE) != 0) return;
  for (HubListener& listener : listeners_)
    if (listener.socket == event.exs_evt_socket) listener.accepts = false;
}

}  // namespace exs::rpc
