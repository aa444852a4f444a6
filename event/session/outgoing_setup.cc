// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/outgoing_setup.h"

#include <algorithm>
#include <cstring>

#include "base/kernel.h"
#include "base/tcp_peer.h"
#include "event/session/failure_text.h"
#include "src/log/log.h"
#include "src/proto/connection.h"
#include "src/wire/paths.h"

namespace exs {
namespace {

// A device gets this part of the time if the network can be tried after it.
constexpr std::uint64_t kDevicePart = 2;

// As many reads at a time as most devices can have under way. Each takes room in the queues of the device, used or not.
constexpr std::uint32_t kDeviceReadDepth = 16;

proto::Wishes by_device_of(proto::Wishes wishes) {
  wishes.read_depth = std::min(wishes.read_depth, kDeviceReadDepth);
  return wishes;
}

// The most that a peer can agree to: what a link must be ready for before the agreement.
proto::Agreement widest(const proto::Wishes& wishes) {
  return {.version = 0,
          .send_credits = wishes.send_credits,
          .receive_credits = wishes.receive_credits,
          .small_bytes = wishes.small_bytes,
          .reads_out = wishes.read_depth,
          .reads_in = wishes.read_depth};
}

// The private data without what follows the hello, which is about providers.
std::span<const std::byte> hello_part(std::span<const std::byte> private_data) {
  return private_data.first(std::min(private_data.size(), wire::kPathsOffset));
}

// Takes back the address that a connect gave the socket, so that the next way is free to choose.
void forget_connect(int socket) {
  sockaddr none{};
  none.sa_family = AF_UNSPEC;
  [[maybe_unused]] const int done = kernel::connect(socket, &none, sizeof none);
}

}  // namespace

OutgoingSetup::OutgoingSetup(const Context& context, const sockaddr_storage& peer, socklen_t peer_bytes)
    : ConnectionSetup(context),
      peer_(peer),
      peer_bytes_(peer_bytes),
      deadline_ns_(shard().clock().deadline_after(options().connect_limit_ns)) {}

void OutgoingSetup::start() {
  route().plan(shard(), address());
  try_next_way();
}

void OutgoingSetup::complete(const Completion& completion) {
  if (!link_) return;
  if (completion.kind == CompletionKind::kEstablished) {
    established();
  } else if (completion.kind == CompletionKind::kDisconnected) {
    link_failed(completion.status.ok() ? Status(ECONNRESET) : completion.status);
  }
}

void OutgoingSetup::try_next_way() {
  while (const auto way = route().next_way(shard(), address())) {
    way_ = *way;
    if (is_logged(LogLevel::kDebug)) {
      log(LogLevel::kDebug, "socket {}: connecting to {} by {}", socket(), text_of(peer_),
          by_device() ? "an RDMA device" : "the network");
    }
    const Status status = by_device() ? connect_by_device() : connect_by_network();
    if (status.ok()) return;
    note_outcome(status);
    if (by_device()) {
      route().device_failed(Reason::make(ReasonCode::kFailed, "connect: %s", std::strerror(status.error())),
                            false);
    } else if (status != Status(EOPNOTSUPP)) {
      return client().setup_failed(status);
    }
  }
  if (outcome_ == Status(EOPNOTSUPP)) {
    log(LogLevel::kInfo,
        "socket {}: no provider that EXS_SO_PROVIDER or EXS_PROVIDER allows reaches {}: EOPNOTSUPP; "
        "EXS_EXPLAIN=1 tells why",
        socket(), text_of(peer_));
  }
  client().setup_failed(outcome_);
}

Status OutgoingSetup::connect_by_device() {
  shard().assert_held();
  const proto::Wishes wishes = by_device_of(options().wishes);
  const auto greeting = proto::make_hello(wishes);
  Connector* const connector = shard().port(way_)->connector();
  auto link = connector->connect(socket(), &address(), peer_bytes_,
                                 {greeting.view(), proto::link_depths(widest(wishes))}, token());
  if (!link) return link.error();
  link_ = std::move(*link);
  const std::uint64_t part_ns = shard().clock().deadline_after(options().connect_limit_ns / kDevicePart);
  arm(route().has_other_way() ? std::min(part_ns, deadline_ns_) : deadline_ns_);
  return Status();
}

Status OutgoingSetup::connect_by_network() {
  shard().assert_held();
  const auto data = route().ask(shard(), hello().view());
  if (!data) return data.error();
  Port* const port = shard().port(Role::kNetwork);
  if (port == nullptr) return Status(EOPNOTSUPP);
  auto link = port->connector()->connect(socket(), &address(), peer_bytes_,
                                         {*data, proto::link_depths(widest(options().wishes))}, token());
  if (!link) return link.error();
  link_ = std::move(*link);
  arm(deadline_ns_);
  return Status();
}

void OutgoingSetup::established() {
  const proto::Wishes wishes = by_device() ? by_device_of(options().wishes) : options().wishes;
  const auto agreement = proto::agree(wishes, hello_part(link_->private_data()));
  if (!agreement) return client().setup_failed(agreement.error());
  const auto taken = route().learn(way_, link_->private_data());
  if (!taken && taken.error() == Status(EOPNOTSUPP)) return leave_way(taken.error());
  if (!taken) return client().setup_failed(taken.error());
  Reason limit;
  if (*taken == Role::kSameHost) {
    if (const Status status = change_link(*agreement, limit); !status.ok())
      return client().setup_failed(status);
  }
  client().connected(settle(*taken, *agreement, limit), deadline_ns_);
}

// Releases the link of the network, which set the connection up: its TCP connection stays as a sign of life.
Status OutgoingSetup::change_link(const proto::Agreement& agreement, Reason& limit) {
  shard().assert_held();
  UpgradableLink* const upgradable = link_->upgradable();
  if (upgradable == nullptr) return Status(EPROTO);
  if (const Status status = upgradable->release(); !status.ok()) return status;
  auto pending = route().take_upgrade();
  limit = pending->why_not();
  const std::vector<std::byte> data(link_->private_data().begin(), link_->private_data().end());
  shard().destroy_later({std::move(link_), nullptr});
  auto link = upgrade()->adopt(std::move(pending), socket(), {data, proto::link_depths(agreement)}, token());
  if (!link) return link.error();
  link_ = std::move(*link);
  return Status();
}

// Tries another way if there is no listener on this one, or if the peer has no provider for it.
void OutgoingSetup::link_failed(Status why) {
  stage_ = link_->connect_stage();
  const Reason found = link_->why_not();
  const auto said = link_->private_data();
  const bool rejected = by_device() ? found.code == ReasonCode::kNone && proto::is_rejection(said)
                                    : why == Status(ECONNREFUSED) && !said.empty();
  rejected_ = rejected;
  if (rejected) {
    why = proto::rejection_reason(said);
    route().learn_refusal(said);
  }
  const bool for_want_of_provider = rejected && why == Status(EOPNOTSUPP);
  const bool nobody_met = !rejected && (by_device() || why == Status(ECONNREFUSED));
  if (!for_want_of_provider && !nobody_met) return client().setup_failed(why);
  if (by_device() && rejected) {
    route().device_failed(Reason::make(ReasonCode::kForbidden, "by the peer"), true);
  } else if (by_device()) {
    route().device_failed(found.code != ReasonCode::kNone
                              ? found
                              : Reason::make(ReasonCode::kFailed, "%s", std::strerror(why.error())),
                          false);
  }
  leave_way(why);
}

void OutgoingSetup::note_outcome(Status why) {
  if (!by_device() || !network_tried_) outcome_ = why;
  network_tried_ = network_tried_ || !by_device();
}

void OutgoingSetup::leave_way(Status why) {
  note_outcome(why);
  if (!route().has_other_way()) return client().setup_failed(outcome_);
  leave_link();
  try_next_way();
}

// Takes a new token, so that completions of the old link are not taken for the next one's.
void OutgoingSetup::leave_link() {
  drop_link();
  renew_token();
  if (by_device()) return;
  route().take_upgrade().reset();
  forget_connect(socket());
}

void OutgoingSetup::time_is_up(std::uint64_t now_ns) {
  if (device_is_slow(now_ns)) return give_up_device();
  if (link_) stage_ = link_->connect_stage();
  if (stage_ == ConnectStage::kAsked) accepted_ = peer_has_accepted(socket());
  log(LogLevel::kInfo, "socket {}: the connect to {} took longer than EXS_SO_CONNECT_TIMEOUT_MS", socket(),
      text_of(peer_));
  client().setup_failed(Status(ETIMEDOUT));
}

bool OutgoingSetup::device_is_slow(std::uint64_t now_ns) const {
  return link_ && by_device() && route().has_other_way() && now_ns < deadline_ns_;
}

void OutgoingSetup::give_up_device() {
  route().device_failed(Reason::make(ReasonCode::kTimedOut, "no answer in half of the time for the connect"),
                        false);
  leave_way(Status(ETIMEDOUT));
}

std::string OutgoingSetup::what_failed(Status why) {
  if (why == Status(EOPNOTSUPP)) route().failed();
  return text_of({.peer = text_of(peer_),
                  .why = why,
                  .stage = stage_,
                  .rejected = rejected_,
                  .accepted = accepted_,
                  .limit_ms = options().connect_limit_ns / kNsPerMs,
                  .kind = options().wishes.kind},
                 route().explanation());
}

void OutgoingSetup::explain(Status why) {
  const bool device_failed = by_device() && why != Status(ECANCELED);
  if (why != Status(EOPNOTSUPP) && !device_failed) {
    if (why != Status(ECANCELED) && is_logged(LogLevel::kDebug))
      log(LogLevel::kDebug, "socket {}: {}", socket(), what_failed(why));
    return;
  }
  route().failed();
  tell_route(why.error(), &peer_);
}

}  // namespace exs
