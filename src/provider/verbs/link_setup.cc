// How a link comes to stand: the connection manager's events, in order.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/held_signals.h"
#include "base/socket_address.h"
#include "src/log/log.h"
#include "src/provider/verbs/link.h"

namespace exs::verbs {
namespace {

constexpr int kResolveMs = 2000;
constexpr std::size_t kPortsMax = 16;
constexpr std::size_t kPrivateMax = 56;  // of an InfiniBand request; what the kernel takes from TCP-like ids
constexpr std::uint8_t kRetries = 7;     // the most there are; RNR: for ever
// 4.096 us * 2^16 a try: a peer that has vanished is noticed in two seconds.
constexpr std::uint8_t kAckTimeout = 16;
// InfiniBand's reasons to reject (IBTA, REJ): the peer's software refused; there is no listener.
constexpr int kConsumerReject = 28;
constexpr int kInvalidService = 8;

Status status_of(const rdma_cm_event& event) {
  return Status(event.status < 0 ? -event.status : ECONNRESET);
}

std::uint8_t lesser(std::uint32_t wanted, int device_max, std::uint32_t offered) {
  const auto most = static_cast<std::uint32_t>(std::clamp(device_max, 1, 255));
  return static_cast<std::uint8_t>(std::max(1U, std::min({wanted, most, offered})));
}

bool has_content(const rdma_conn_param& parameters) {
  const auto* const bytes = static_cast<const std::uint8_t*>(parameters.private_data);
  return bytes != nullptr &&
         std::any_of(bytes, bytes + parameters.private_data_len, [](std::uint8_t byte) { return byte != 0; });
}

std::vector<std::byte> copied(const rdma_conn_param& parameters) {
  const auto* const bytes = static_cast<const std::byte*>(parameters.private_data);
  return bytes == nullptr ? std::vector<std::byte>()
                          : std::vector<std::byte>(bytes, bytes + parameters.private_data_len);
}

}  // namespace

// ---------------------------------------------------------------- connecting

Status VerbsLink::start_connect(std::shared_ptr<CmChannel> channel, const sockaddr* from,
                                const sockaddr* peer, std::span<const std::byte> private_data) {
  if (private_data.size() > kPrivateMax) return Status(EMSGSIZE);
  initiator_ = true;
  our_data_.assign(private_data.begin(), private_data.end());
  channel_ = std::move(channel);
  Result<CmId> id = channel_->make_id(*this);
  if (!id) return id.error();
  id_ = std::move(*id);
  may_change_port_ = from == nullptr || port_of(copy_of(*from)) == 0;
  // It takes them without writing to them, whatever its signature says.
  if (::rdma_resolve_addr(id_.get(), const_cast<sockaddr*>(from), const_cast<sockaddr*>(peer), kResolveMs) !=
      0)
    set_up_failed(Reason::make(ReasonCode::kNoRoute, "no RDMA device leads there: %s", std::strerror(errno)),
                  Status(EHOSTUNREACH));
  return Status();
}

void VerbsLink::cm_event(const rdma_cm_event& event) {
  contained([&] { take_event(event); });
}

void VerbsLink::take_event(const rdma_cm_event& event) {
  if (is_over() || event.id != id_.get()) return;
  ++context_.arrivals;
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED: return address_resolved();
    case RDMA_CM_EVENT_ROUTE_RESOLVED: return route_resolved();
    case RDMA_CM_EVENT_ESTABLISHED: return established(event);
    case RDMA_CM_EVENT_REJECTED: return rejected(event);
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return set_up_failed(Reason::make(ReasonCode::kNoRoute, "no RDMA device leads there: %s",
                                        std::strerror(status_of(event).error())),
                           Status(EHOSTUNREACH));
    case RDMA_CM_EVENT_UNREACHABLE:
      return set_up_failed(Reason::make(ReasonCode::kTimedOut, "the peer's device does not answer"),
                           Status(ETIMEDOUT));
    case RDMA_CM_EVENT_CONNECT_ERROR:
      return set_up_failed(Reason::make(ReasonCode::kFailed, "%s", std::strerror(status_of(event).error())),
                           status_of(event));
    case RDMA_CM_EVENT_DISCONNECTED: return end_soon(Status());
    case RDMA_CM_EVENT_DEVICE_REMOVAL: return end_soon(Status(ENODEV));
    default: return;
  }
}

void VerbsLink::set_up_failed(const Reason& why, Status status) {
  if (state_ == State::kOpen) return end_soon(status);
  why_not_ = why;
  end_soon(status);
}

void VerbsLink::address_resolved() {
  const char* const device = ::ibv_get_device_name(id_->verbs->device);
  ibv_port_attr port{};
  if (::ibv_query_port(id_->verbs, id_->port_num, &port) == 0 && port.state != IBV_PORT_ACTIVE) {
    return set_up_failed(Reason::make(ReasonCode::kPortDown, "%s port %u is %s", device,
                                      static_cast<unsigned>(id_->port_num), ::ibv_port_state_str(port.state)),
                         Status(ENETDOWN));
  }
  std::uint8_t timeout = kAckTimeout;
  ::rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof timeout);
  state_ = State::kResolvingRoute;
  if (::rdma_resolve_route(id_.get(), kResolveMs) != 0)
    set_up_failed(Reason::make(ReasonCode::kNoRoute, "%s: %s", device, std::strerror(errno)),
                  Status(EHOSTUNREACH));
}

Status VerbsLink::make_queue_pair() {
  auto queues = queues_of_(context_, *id_);
  if (!queues) return queues.error();
  const ibv_device_attr& limits = (*queues)->device().limits();
  reads_out_ = lesser(depths_.reads_out, limits.max_qp_init_rd_atom, UINT32_MAX);
  reads_in_ = lesser(depths_.reads_in, limits.max_qp_rd_atom, UINT32_MAX);
  auto made = QueuePair::make(**queues, *id_, depths_, *this);
  if (!made) return made.error();
  queue_pair_ = std::move(*made);
  return Status();
}

rdma_conn_param VerbsLink::connection_parameters() const {
  rdma_conn_param parameters{};
  parameters.private_data = our_data_.data();
  parameters.private_data_len = static_cast<std::uint8_t>(our_data_.size());
  parameters.responder_resources = reads_in_;
  parameters.initiator_depth = reads_out_;
  parameters.retry_count = kRetries;
  parameters.rnr_retry_count = kRetries;
  return parameters;
}

void VerbsLink::route_resolved() {
  const char* const device = ::ibv_get_device_name(id_->verbs->device);
  if (const Status status = make_queue_pair(); !status.ok()) {
    const auto code = status == Status(ENOMEM) ? ReasonCode::kMemlock : ReasonCode::kFailed;
    return set_up_failed(Reason::make(code, "%s: no queue pair: %s", device, std::strerror(status.error())),
                         status);
  }
  state_ = State::kConnecting;
  rdma_conn_param parameters = connection_parameters();
  const HeldSignals signals;  // one that is caught ends the connect of a driver that asks the peer at once
  if (::rdma_connect(id_.get(), &parameters) == 0) return;
  const int error = errno;
  if (error == EADDRINUSE && may_change_port_ && refused_ids_.size() < kPortsMax)
    return connect_from_another_port();
  const auto code = error == ECONNREFUSED ? ReasonCode::kPeerLacks : ReasonCode::kFailed;
  set_up_failed(Reason::make(code, "%s: %s", device, std::strerror(error)), Status(error));
}

// A connection of siw is one of the kernel's TCP, from the port that the connection manager chose, which does not know of TCP's.
void VerbsLink::connect_from_another_port() {
  sockaddr_storage from = copy_of(*::rdma_get_local_addr(id_.get()));
  sockaddr_storage peer = copy_of(*::rdma_get_peer_addr(id_.get()));
  port_of(from) = 0;
  Result<CmId> another = channel_->make_id(*this);
  if (!another) return end_soon(another.error());
  queue_pair_.reset();
  refused_ids_.push_back(std::exchange(id_, std::move(*another)));  // its event is being taken, so it stays
  state_ = State::kResolvingAddress;
  if (::rdma_resolve_addr(id_.get(), as_sockaddr(from), as_sockaddr(peer), kResolveMs) != 0)
    set_up_failed(Reason::make(ReasonCode::kNoRoute, "no RDMA device leads there: %s", std::strerror(errno)),
                  Status(EHOSTUNREACH));
}

void VerbsLink::established(const rdma_cm_event& event) {
  if (state_ != State::kConnecting) return;  // ours to accept: it is in use already
  peers_data_ = copied(event.param.conn);
  state_ = State::kOpen;
  queue_pair_->retry_soon();
  complete(CompletionKind::kEstablished, Status(), 0);
}

void VerbsLink::rejected(const rdma_cm_event& event) {
  // A peer that ends before it knows that the connection stands rejects it.
  if (state_ == State::kOpen) return end_soon(Status());
  const bool infiniband = event.status > 0;
  const bool said_no = infiniband ? event.status == kConsumerReject : has_content(event.param.conn);
  if (said_no) {
    peers_data_ = copied(event.param.conn);
    return end_soon(Status(ECONNREFUSED));
  }
  if (!infiniband || event.status == kInvalidService) {
    return set_up_failed(Reason::make(ReasonCode::kPeerLacks, "nobody listens there"), Status(ECONNREFUSED));
  }
  set_up_failed(Reason::make(ReasonCode::kFailed, "rejected for reason %d", event.status),
                Status(ECONNREFUSED));
}

// ---------------------------------------------------------------- accepting

Status VerbsLink::start_accept(std::shared_ptr<CmChannel> channel, CmId id, std::shared_ptr<CmChannel> from,
                               const rdma_conn_param& offered, std::span<const std::byte> peers_data,
                               std::span<const std::byte> private_data) {
  peers_data_.assign(peers_data.begin(), peers_data.end());
  our_data_.assign(private_data.begin(), private_data.end());
  id_ = std::move(id);
  channel_ = std::move(from);  // until the id has moved
  if (const Status status = channel->adopt(*id_, *this); !status.ok()) return status;
  channel_ = std::move(channel);
  std::uint8_t timeout = kAckTimeout;
  ::rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof timeout);
  // EINVAL: the ID cannot be accepted any more, because the peer has given up.
  if (const Status status = make_queue_pair(); !status.ok())
    return status == Status(EINVAL) ? Status(ECONNRESET) : status;
  reads_in_ = std::min(reads_in_, std::max<std::uint8_t>(1, offered.responder_resources));
  reads_out_ = std::min(reads_out_, std::max<std::uint8_t>(1, offered.initiator_depth));
  state_ = State::kReplying;
  context_.replying.push_back(this);
  return Status();
}

void VerbsLink::reply() {
  contained([this] { send_reply(); });
}

void VerbsLink::send_reply() {
  rdma_conn_param parameters = connection_parameters();
  const HeldSignals signals;  // as in route_resolved()
  if (::rdma_accept(id_.get(), &parameters) != 0) {
    const Status status(errno);
    log(LogLevel::kWarn, "verbs: a connection could not be accepted: {}", std::strerror(status.error()));
    return end_soon(status);
  }
  state_ = State::kOpen;
  queue_pair_->retry_soon();
  complete(CompletionKind::kEstablished, Status(), 0);
}

}  // namespace exs::verbs
