// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/hub.h"

#include <netinet/in.h>
#include <pthread.h>
#include <rpc/svc_mt.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/no_signals.h"
#include "rpc/channel/address.h"
#include "rpc/channel/clock.h"
#include "rpc/channel/close_at_once.h"
#include "rpc/channel/process.h"
#include "rpc/channel/wait_again.h"
#include "rpc/sunrpc/settings.h"

namespace exs::rpc {
namespace {

constexpr std::int64_t kLookNs = 50'000;       // the wait for another request
constexpr std::int64_t kInARowNs = 1'000'000;  // until the program's loop gets its turn
constexpr std::int64_t kHelloNs = 5'000'000'000;
constexpr std::uint32_t kLongestCall = std::uint32_t{256} << 20U;
constexpr std::size_t kStrangersMax = 256;
constexpr unsigned kThreadsMax = 256;
constexpr int kFirstDepth = 1024;
constexpr int kSlotsOfLink = 96;
constexpr int kPendingMax = 64;  // replies that a client leaves unread
constexpr int kBacklog = 256;
constexpr exs_ahandle_t kAccepts = nullptr;

bool is_stream(int descriptor) {
  int type = 0;
  socklen_t length = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

// The address of the server's end of the connection. A connection that is not of IP gives the host's loopback address.
bool local_address(int descriptor, sockaddr_storage& address, socklen_t& length) {
  length = sizeof address;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) return false;
  if (address.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address).sin_port = 0;
  } else if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = 0;
  } else {
    const sockaddr_in here{AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {}};
    std::memcpy(&address, &here, length = sizeof here);
  }
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
  if (!start_library()) return false;
  queue_ = exs_qcreate(kFirstDepth);
  if (queue_ == EXS_QHANDLE_INVALID) return false;
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
  depth_ = kFirstDepth;
  start_workers();
  return true;
}

Hub::Lock Hub::lock() {
  return has_threads() ? Lock(mutex_) : Lock();
}

int Hub::use_threads(unsigned threads) {
  if (threads > kThreadsMax) return EINVAL;
  if (queue_ != EXS_QHANDLE_INVALID) return EBUSY;
  threads_ = threads;
  return 0;
}

// Starts as many as possible: if none starts, the program's thread serves all. The program keeps its signals.
void Hub::start_workers() {
  const NoSignals signals;
  while (workers_.size() < threads_ && start_worker()) continue;
}

bool Hub::start_worker() try {
  auto worker = std::make_unique<Worker>();
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
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

// Runs until the process ends, because the links of its queue have no other thread.
void* Hub::work(void* worker) {
  constexpr int kEvents = 16;
  std::array<exs_event_t, kEvents> events;
  const exs_qhandle_t queue = static_cast<Worker*>(worker)->queue;
  for (;;) {
    const int count = exs_qwait(queue, events.data(), kEvents, 1, -1);
    if (count < 0 && !may_wait_again()) return nullptr;
    for (int i = 0; i < count; ++i) instance().take(events[static_cast<std::size_t>(i)]);
  }
}

std::size_t Hub::idlest_worker() {
  if (workers_.empty()) return kNoWorker;
  for (const auto& worker : workers_) worker->links = 0;
  for (const Place& place : places_)
    if (place.transport != nullptr && place.worker != kNoWorker) ++workers_[place.worker]->links;
  const auto has_fewer = [](const auto& one, const auto& other) { return one->links < other->links; };
  return static_cast<std::size_t>(std::min_element(workers_.begin(), workers_.end(), has_fewer) -
                                  workers_.begin());
}

bool Hub::pass_on(ServerTransport& transport) {
  if (workers_.empty() || !transport.has_gss_request()) return false;
  const Lock held = lock();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (place.transport.get() != &transport || place.worker == kNoWorker) continue;
    if (exs_qpost(queue_, handle_of(i), nullptr) != 0) return false;
    place.worker = kNoWorker;
    transport.link()->use_queue(queue_, handle_of(i));
    return true;
  }
  return false;
}

Answer Hub::answer(SVCXPRT* transport, const Offer& offer) {
  Answer answer{};
  const auto refuse = [&](Reason reason) {
    answer.reason = reason;
    return answer;
  };
  if (settings().use == Use::kOff) return refuse(Reason::kOff);
  if (offer.kind != static_cast<std::uint32_t>(Kind::kSunRpc) || offer.version < kLinkVersion ||
      offer.inline_bytes < kInlineBytes)
    return refuse(Reason::kVersion);
  if (!is_stream(transport->xp_fd)) return refuse(Reason::kNoStream);
  if (!has_descriptors()) return refuse(Reason::kNoDescriptors);
  const Lock held = lock();
  const Listener* const listener = start() ? listen_at(transport) : nullptr;
  if (listener == nullptr) return refuse(Reason::kNoSocket);
  ServerTransport& ours = ServerTransport::of(transport);
  if (ours.link() != nullptr || !add_token(ours, answer.token)) return refuse(Reason::kNoSocket);
  answer.version = kLinkVersion;
  answer.port = listener->port;
  answer.inline_bytes = kInlineBytes;
  answer.longest = kLongestCall;
  return answer;
}

const Hub::Listener* Hub::listen_at(SVCXPRT* transport) {
  Listener made{};
  if (!local_address(transport->xp_fd, made.address, made.length)) return nullptr;
  for (Listener& known : listeners_) {
    if (known.length != made.length || std::memcmp(&known.address, &made.address, made.length) != 0) continue;
    known.accepts = known.accepts || post_accept(known);
    return known.accepts ? &known : nullptr;
  }
  listeners_.reserve(listeners_.size() + 1);  // before the socket takes its port
  made.socket = exs_socket(made.address.ss_family, SOCK_SEQPACKET, 0);
  if (made.socket < 0) return nullptr;
  sockaddr_storage bound = made.address;
  if (bound.ss_family == AF_INET) reinterpret_cast<sockaddr_in&>(bound).sin_port = htons(settings().port);
  if (bound.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6&>(bound).sin6_port = htons(settings().port);
  socklen_t length = made.length;
  constexpr std::size_t kSmall = kFrameBytes + kInlineBytes;
  constexpr int kOperationsMax = kPendingMax;
  exs_fcntl(made.socket, EXS_F_SET_SMALL_MAX, kSmall);
  exs_fcntl(made.socket, EXS_F_SET_MAX_OPS, kOperationsMax);
  auto* const address = reinterpret_cast<sockaddr*>(&bound);
  if (exs_bind(made.socket, address, length) != 0 || exs_listen(made.socket, kBacklog) != 0 ||
      exs_getsockname(made.socket, address, &length) != 0 || !post_accept(made)) {
    exs_close(made.socket);
    return nullptr;
  }
  made.accepts = true;
  made.port = port_of(bound);
  listeners_.push_back(made);
  return &listeners_.back();
}

bool Hub::post_accept(const Listener& listener) const {
  return exs_accept(listener.socket, nullptr, EXS_MULTISHOT, queue_, kAccepts) == 0;
}

bool Hub::add_token(ServerTransport& transport, std::array<char, kTokenBytes>& bytes) {
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return false;
  const std::int64_t now = now_ns();
  const auto is_over = [&](const Token& token) {
    return token.transport == &transport || token.end_ns < now;
  };
  tokens_.erase(std::remove_if(tokens_.begin(), tokens_.end(), is_over), tokens_.end());
  tokens_.push_back({bytes, &transport, now + kHelloNs});
  return true;
}

ServerTransport* Hub::take_token(std::span<const std::byte> bytes) {
  const auto is_it = [&](const Token& token) {
    return bytes.size() == token.bytes.size() &&
           std::memcmp(bytes.data(), token.bytes.data(), bytes.size()) == 0;
  };
  const auto found = std::find_if(tokens_.begin(), tokens_.end(), is_it);
  if (found == tokens_.end()) return nullptr;
  const Token token = *found;
  tokens_.erase(found);
  return token.end_ns >= now_ns() ? token.transport : nullptr;
}

void Hub::forget(const ServerTransport& transport) {
  const Lock held = lock();
  const auto is_its = [&](const Token& token) { return token.transport == &transport; };
  tokens_.erase(std::remove_if(tokens_.begin(), tokens_.end(), is_its), tokens_.end());
  for (Place& place : places_) {
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
  const std::int64_t begun = now_ns();
  std::int64_t look_ns = 0;
  for (;;) {
    const int count = exs_qwait(queue_, events.data(), kEvents, 1, look_ns);
    if (count <= 0) break;
    for (int i = 0; i < count; ++i) take(events[static_cast<std::size_t>(i)]);
    look_ns = kLookNs;
    if (now_ns() - begun < kInARowNs) continue;
    exs_qpost(queue_, kAccepts, nullptr);  // makes the program's loop come back here after its turn
    break;
  }
  if (strangers_ > 0) drop_late_strangers();
}

exs_ahandle_t Hub::handle_of(std::size_t index) const {
  const std::uint64_t word = (std::uint64_t{places_[index].generation} << 32U) | (index + 1);
  return reinterpret_cast<exs_ahandle_t>(word);
}
Hub::Place* Hub::place_of(exs_ahandle_t handle) {
  const auto word = reinterpret_cast<std::uint64_t>(handle);
  const std::size_t index = (word & UINT32_MAX) - 1;
  if (index >= places_.size() || places_[index].generation != word >> 32U) return nullptr;
  return &places_[index];
}

void Hub::take(const exs_event_t& event) {
  std::shared_ptr<ServerTransport> transport;
  {
    const Lock held = lock();
    if (event.exs_evt_type == EXS_EVT_ACCEPT) return take_accept(event);
    Place* const place = event.exs_evt_ahandle == kAccepts ? nullptr : place_of(event.exs_evt_ahandle);
    if (place == nullptr) return;
    if (place->stranger) return take_of_stranger(*place, event);
    transport = place->transport;
  }
  transport->take(event);
}

// An accept ends only for want of memory. The next offer posts it again.
void Hub::take_accept(const exs_event_t& event) {
  if (event.exs_evt_errno == 0) accept(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
  if ((event.exs_evt_flags & EXS_EVF_MORE) != 0) return;
  for (Listener& listener : listeners_)
    if (listener.socket == event.exs_evt_socket) listener.accepts = false;
}

void Hub::take_of_stranger(Place& place, const exs_event_t& event) {
  switch (place.stranger->take(event)) {
    case Link::News::kNothing: break;
    case Link::News::kEnd: end(place); break;
    case Link::News::kMessage: greet(place);
  }
}

// Returns the index of a free place; kNoPlace: memory ran out.
std::size_t Hub::free_place() try {
  std::size_t index = 0;
  while (index < places_.size() && (places_[index].stranger || places_[index].transport != nullptr)) ++index;
  if (index == places_.size()) places_.emplace_back();
  return index;
} catch (const std::bad_alloc&) {
  return kNoPlace;
}

// Without memory for it, the connection ends, and its client calls by TCP.
void Hub::accept(int socket) {
  const std::size_t index = free_place();
  std::unique_ptr<Link> link;
  if (index != kNoPlace) link.reset(new (std::nothrow) Link(socket, queue_, handle_of(index)));
  if (link == nullptr) return close_at_once(socket);
  const int depth = kFirstDepth + static_cast<int>(places_.size()) * kSlotsOfLink;
  if (depth > depth_) {
    const int deeper = std::min(depth * 2, EXS_QDEPTH_MAX);
    if (exs_qmodify(queue_, EXS_QATTR_DEPTH, &deeper, sizeof deeper) == 0) depth_ = deeper;
    for (const auto& worker : workers_) exs_qmodify(worker->queue, EXS_QATTR_DEPTH, &deeper, sizeof deeper);
  }
  Place& place = places_[index];
  place.stranger = std::move(link);
  if (settings().is_reduced) place.stranger->use_plain_memory();
  place.end_ns = now_ns() + kHelloNs;
  ++strangers_;
  if (strangers_ > kStrangersMax || !place.stranger->begin(kLongestCall)) end(place);
}

// The first message of a stranger has arrived.
void Hub::greet(Place& place) {
  Link& link = *place.stranger;
  ServerTransport* const transport = link.type() == FrameType::kHello ? take_token(link.received()) : nullptr;
  if (transport == nullptr || transport->link() != nullptr || !link.send_frame(FrameType::kWelcome, {}))
    return end(place);
  place.worker = idlest_worker();
  Worker* const worker = place.worker == kNoWorker ? nullptr : workers_[place.worker].get();
  if (worker != nullptr)
    link.use_queue(worker->queue, handle_of(static_cast<std::size_t>(&place - places_.data())));
  if (!link.receive_next()) return end(place);
  --strangers_;
  place.transport = transport->shared_from_this();
  transport->take_link(std::move(place.stranger), worker != nullptr ? worker->reply : reply_);
}

// Ends a stranger.
void Hub::end(Place& place) {
  place.stranger.reset();
  --strangers_;
  ++place.generation;
}

void Hub::drop_late_strangers() {
  const Lock held = lock();
  const std::int64_t now = now_ns();
  for (Place& place : places_)
    if (place.stranger && place.end_ns < now) end(place);
}

}  // namespace exs::rpc
