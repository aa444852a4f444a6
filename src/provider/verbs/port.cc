// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/port.h"

#include <netinet/in.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/contain.h"
#include "base/destroy_elsewhere.h"
#include "base/kernel.h"
#include "base/socket_address.h"
#include "src/log/log.h"
#include "src/provider/verbs/incoming_request.h"
#include "src/provider/verbs/port_listener.h"
#include "src/provider/verbs/process_listener.h"

namespace exs::verbs {
namespace {

// A look at descriptors is a system call, and messages need none.
constexpr std::uint64_t kLookNs = 20'000;
constexpr std::size_t kEventsMax = 64;

}  // namespace

Result<std::unique_ptr<Port>> VerbsPort::open(Devices& devices) {
  Result<Poller> poller = Poller::open();
  if (!poller) return failure(poller.error());
  UniqueFd wakeup(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wakeup.valid()) return failure(errno);
  std::unique_ptr<VerbsPort> port(new VerbsPort(std::move(*poller), devices, std::move(wakeup)));
  if (const Status status = port->context_.poller.add(port->wakeup_fd_.get(), EPOLLIN, port->wakeup_);
      !status.ok())
    return failure(status);
  if (const Status status = port->recheck_timer_.open(port->context_.poller); !status.ok())
    return failure(status);
  return port;
}

VerbsPort::VerbsPort(Poller&& poller, Devices& devices, UniqueFd wakeup)
    : owned_context_(std::make_unique<PortContext>(std::move(poller), devices)),
      context_(*owned_context_),
      addresses_([this](const sockaddr& address) { address_gone(address); }),
      wakeup_fd_(std::move(wakeup)),
      wakeup_(*this) {}

VerbsPort::~VerbsPort() {
  for (const auto& watched : watched_) watched->device().leave(*this);
  const bool would_wait = std::any_of(context_.closing.begin(), context_.closing.end(),
                                      [](const auto& one) { return one->is_unanswered(); });
  if (would_wait) destroy_elsewhere(std::move(owned_context_));
}

// ---------------------------------------------------------------- connections

bool VerbsPort::may_reach(const sockaddr* peer, Reason& why_not) {
  if (!is_loopback(*peer)) return true;
  why_not = Reason::make(ReasonCode::kNoRoute, "loopback addresses belong to no device");
  return false;
}

Status VerbsPort::open_channel() {
  if (context_.channel) return Status();
  auto channel = CmChannel::open();
  if (!channel) return channel.error();
  if (const Status status = context_.poller.add((*channel)->descriptor(), EPOLLIN, **channel); !status.ok())
    return status;
  context_.channel = std::move(*channel);
  addresses_.start(context_.poller);
  in_use_ = true;
  return Status();
}

Result<std::unique_ptr<Link>> VerbsPort::connect(int descriptor, const sockaddr* peer, socklen_t,
                                                 const ConnectParameters& parameters,
                                                 std::uint64_t link_token) {
  if (const Status status = open_channel(); !status.ok()) return failure(status);
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  const bool named = kernel::getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &length) == 0 &&
                     !is_any(*as_sockaddr(bound)) && bound.ss_family == peer->sa_family;
  port_of(bound) = 0;
  auto link = std::make_unique<VerbsLink>(context_, queues_of, parameters.depths, link_token);
  const Status status =
      link->start_connect(context_.channel, named ? reinterpret_cast<const sockaddr*>(&bound) : nullptr, peer,
                          parameters.private_data);
  if (!status.ok()) return failure(status);
  return link;
}

Result<std::unique_ptr<PortListener>> VerbsPort::listen(int, const ListenParameters& parameters,
                                                        std::uint64_t listener_token) {
  if (parameters.listening == nullptr) return failure(EINVAL);
  // Listenings come from our provider only.
  auto listener = std::make_unique<VerbsPortListener>(
      context_, static_cast<VerbsProcessListener&>(*parameters.listening), listener_token);
  if (const Status status = listener->start(); !status.ok()) return failure(status);
  in_use_ = true;
  return listener;
}

Result<std::unique_ptr<Link>> VerbsPort::accept(std::unique_ptr<ConnectionRequest> request, int,
                                                const ConnectParameters& parameters,
                                                std::uint64_t link_token) {
  if (const Status status = open_channel(); !status.ok()) return failure(status);
  // As with listen().
  auto& incoming = static_cast<IncomingRequest&>(*request);
  auto link = std::make_unique<VerbsLink>(context_, queues_of, parameters.depths, link_token);
  const Status status =
      link->start_accept(context_.channel, incoming.take_id(), incoming.channel(), incoming.offered(),
                         incoming.private_data(), parameters.private_data);
  if (!status.ok()) return failure(status);
  return link;
}

Result<Queues*> VerbsPort::queues_of(PortContext& context, rdma_cm_id& id) {
  for (const auto& queues : context.queues) {
    if (queues->device().context() == id.verbs) return queues.get();
  }
  auto device = context.devices.find(id.verbs);
  if (!device) return failure(device.error());
  auto made = Queues::open(context.poller, **device, context.arrivals);
  if (!made) return failure(made.error());
  return context.queues.emplace_back(std::move(*made)).get();
}

// ---------------------------------------------------------------- traffic

void VerbsPort::flush() {
  if (context_.replying.empty()) return;
  context_.working.clear();
  context_.working.swap(context_.replying);
  for (VerbsLink* link : context_.working) link->reply();
}

void VerbsPort::progress(std::uint64_t now_ns) {
  context_.now_ns = now_ns;
  if (!in_use_) return;
  for (const auto& queues : context_.queues) queues->poll();
  if (must_poll_descriptors_ || now_ns - descriptors_polled_ns_ >= kLookNs) poll_descriptors();
  if (!context_.timed.empty()) run_timers();
  if (!context_.ending.empty()) end_marked_links();
  if (!context_.closing.empty()) drop_closed();
}

// A completion channel rings for a thread that slept for messages, nearly always. Other events keep the
// descriptor readable.
bool VerbsPort::poll_memory(bool rang) {
  if (!in_use_) return !rang;
  bool heard = false;
  for (const auto& queues : context_.queues) {
    heard = heard || (rang && queues->hear());
    queues->poll();
  }
  if (!context_.ending.empty()) end_marked_links();
  return heard || !rang;
}

void VerbsPort::poll_descriptors() {
  descriptors_polled_ns_ = context_.now_ns;
  must_poll_descriptors_ = false;
  // Devices that have come into use since.
  for (std::size_t i = watched_.size(); i < context_.queues.size(); ++i)
    contain([&] { watch_events_of(context_.queues[i]->device()); }, [] {});  // the next look does it
  std::array<epoll_event, kEventsMax> room;
  for (const epoll_event& event : context_.poller.look(room)) {
    // Without memory for it, the event is reported again.
    contain([&] { static_cast<Pollable*>(event.data.ptr)->ready(event.events); }, [] {});
  }
}

// Without the watch, a device's failure shows in failed work requests.
void VerbsPort::watch_events_of(Device& device) {
  watched_.reserve(watched_.size() + 1);
  auto watched = std::make_unique<DeviceEvents>(device);
  device.join(*this);
  watched_.push_back(std::move(watched));
  [[maybe_unused]] const Status logged = context_.poller.add(device.event_fd(), EPOLLIN, *watched_.back());
}

void VerbsPort::end_marked_links() {
  ++context_.arrivals;
  // Those that end meanwhile are handled next time.
  context_.working.clear();
  context_.working.swap(context_.ending);
  for (VerbsLink* link : context_.working) link->end_now();
}

void VerbsPort::drop_closed() {
  std::erase_if(context_.closing, [&](const auto& one) { return one->is_done(context_.now_ns); });
}

void VerbsPort::run_timers() {
  context_.working = context_.timed;
  for (VerbsLink* link : context_.working) link->look_at_countdown(context_.now_ns);
}

std::uint64_t VerbsPort::next_deadline_ns() const noexcept {
  std::uint64_t deadline_ns = kNoDeadline;
  for (const VerbsLink* link : context_.timed) deadline_ns = std::min(deadline_ns, link->due_ns());
  for (const auto& one : context_.closing) deadline_ns = std::min(deadline_ns, one->until_ns());
  if (!context_.ending.empty()) deadline_ns = 0;
  return deadline_ns;
}

bool VerbsPort::arm() {
  must_poll_descriptors_ = true;
  if (!in_use_) return true;
  bool quiet = context_.ending.empty();
  for (const auto& queues : context_.queues) {
    quiet = queues->arm() && quiet;
    if (queues->needs_recheck()) recheck_timer_.set();
  }
  return quiet;
}

void VerbsPort::disarm() {
  for (const auto& queues : context_.queues) queues->disarm();
}

// ---------------------------------------------------------------- failures

void VerbsPort::device_failed(const ibv_context* device, DeviceFailure kind, std::uint32_t number) {
  // Without memory, the device's failure shows in failed work requests.
  contain(
      [&] {
        LockGuard guard(failures_mutex_);
        failures_.push_back({device, kind, number});
      },
      [] {});
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = kernel::write(wakeup_fd_.get(), &one, sizeof one);
}

void VerbsPort::handle_device_events() {
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto got = kernel::read(wakeup_fd_.get(), &rings, sizeof rings);
  std::vector<Failure> heard;
  {
    LockGuard guard(failures_mutex_);
    heard.swap(failures_);
  }
  for (const Failure& reported : heard) {
    for (VerbsLink* link : context_.links) {
      if (!link->is_on(reported.device)) continue;
      if (reported.kind == DeviceFailure::kDevice) link->end_soon(Status(ENODEV));
      if (reported.kind == DeviceFailure::kPort && link->port_number() == reported.number)
        link->end_soon(Status(ENETDOWN));
      if (reported.kind == DeviceFailure::kQueuePair && link->has_queue_pair(reported.number))
        link->end_soon(Status(EIO));
    }
  }
}

void VerbsPort::address_gone(const sockaddr& address) {
  for (VerbsLink* link : context_.links) {
    if (link->is_bound_to(address)) link->end_soon(Status(EADDRNOTAVAIL));
  }
}

}  // namespace exs::verbs
