// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/link.h"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/socket_address.h"
#include "src/log/log.h"

namespace exs::verbs {
namespace {

// How long a closed connection may take to get rid of its last messages.
constexpr std::uint64_t kClosingNs = 1000 * kNsPerMs;
// A flushed queue pair and no word of the connection manager for so long: it will not come.
constexpr std::uint64_t kFlushedNs = 500 * kNsPerMs;
// Between the first message and the first nudge, and after the last one; each pause is twice the one before.
constexpr std::uint64_t kFirstNudgeNs = 30 * kNsPerMs;
constexpr std::uint64_t kLastNudgeNs = 480 * kNsPerMs;

// Serves the IDs of connections without an owner.
class IgnoreEvents final : public CmClient {
 public:
  void cm_event(const rdma_cm_event&) override {}
};
IgnoreEvents ignore_events;

}  // namespace

VerbsLink::VerbsLink(PortContext& context, QueuesOf queues_of, const LinkDepths& depths, std::uint64_t token)
    : context_(context), queues_of_(queues_of), depths_(depths), token_(token) {
  context_.make_room_for_link();
  context_.links.push_back(this);
}

VerbsLink::~VerbsLink() {
  if (!is_over()) close();
}

bool VerbsLink::addresses(sockaddr_storage& ours, sockaddr_storage& peers) const noexcept {
  if (!id_) return false;
  ours = copy_of(*::rdma_get_local_addr(id_.get()));
  peers = copy_of(*::rdma_get_peer_addr(id_.get()));
  return true;
}

bool VerbsLink::is_bound_to(const sockaddr& address) const noexcept {
  return id_ && is_same_host(*::rdma_get_local_addr(id_.get()), address);
}

// ---------------------------------------------------------------- traffic

Status VerbsLink::post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) {
  if (!takes_posts() || !queue_pair_) return Status(ENOTCONN);
  const Status status =
      queue_pair_->send(header, {payload.address, static_cast<std::size_t>(payload.length_bytes)});
  if (!status.ok()) return status;
  if (nudge_after_ns_ == 0 && initiator_ && !heard_ && is_iwarp()) {
    nudge_after_ns_ = kFirstNudgeNs;
    start_countdown(nudge_after_ns_);
  }
  complete(CompletionKind::kSend, Status(), token);
  return Status();
}

Status VerbsLink::post_recv(LocalSlice into, std::uint64_t token) {
  if (!takes_posts()) return Status(ENOTCONN);
  if (receives_.count() == depths_.receives) return Status(EAGAIN);
  receives_.push({{into.address, static_cast<std::size_t>(into.length_bytes)}, token});
  return Status();
}

Status VerbsLink::post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) {
  if (!takes_posts() || !queue_pair_) return Status(ENOTCONN);
  return queue_pair_->read(into, from, token);
}

Status VerbsLink::post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) {
  if (!takes_posts() || !queue_pair_) return Status(ENOTCONN);
  return queue_pair_->write(from, to, token);
}

void VerbsLink::message_arrived(std::span<const std::byte> message) {
  if (is_over()) return;
  if (!heard_) {
    heard_ = true;
    if (!ends_) stop_countdown();
  }
  if (receives_.empty() || receives_.last().memory.size() < message.size()) {
    log(LogLevel::kWarn, "verbs: a peer sent {}: the connection ends",
        receives_.empty() ? "more messages than it has credits for" : "a message longer than was agreed");
    return end_soon(Status(EPROTO));
  }
  const PostedReceive receive = receives_.last();
  receives_.pop();
  std::memcpy(receive.memory.data(), message.data(), message.size());
  contained([&] {
    complete(CompletionKind::kReceive, Status(), receive.token, static_cast<std::uint32_t>(message.size()));
  });
}

// Works also while the link closes: completions until the end of the queue pair are taken.
void VerbsLink::transfer_done(CompletionKind kind, std::uint64_t token) {
  contained([&] { complete(kind, Status(), token); });
}

// A flush says that the connection has ended; the connection manager will say how.
void VerbsLink::queue_pair_failed(Status why) {
  if (!why.ok()) {
    log(LogLevel::kWarn, "verbs: {}: a work request failed: {}", ::ibv_get_device_name(id_->verbs->device),
        std::strerror(why.error()));
    return end_soon(why);
  }
  heard_ = true;  // the nudges end
  if (!ends_ && !is_over()) start_countdown(kFlushedNs);
}

// ---------------------------------------------------------------- windows

Result<RemoteSlice> VerbsLink::expose(LocalSlice memory, Access access) {
  if (!takes_posts() || !queue_pair_) return failure(ENOTCONN);
  const bool written = (static_cast<unsigned>(access) & static_cast<unsigned>(Access::kRemoteWrite)) != 0;
  const bool read = (static_cast<unsigned>(access) & static_cast<unsigned>(Access::kRemoteRead)) != 0;
  const int rights =
      (read ? IBV_ACCESS_REMOTE_READ : 0) | (written ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0);
  auto queues = queues_of_(context_, *id_);
  if (!queues) return failure(queues.error());
  auto region =
      (*queues)->device().expose({memory.address, static_cast<std::size_t>(memory.length_bytes)}, rights);
  if (!region) return failure(region.error());
  const std::uint32_t key = (*region)->rkey;
  windows_[key] = std::move(*region);
  return RemoteSlice{reinterpret_cast<std::uintptr_t>(memory.address), memory.length_bytes, key};
}

Status VerbsLink::withdraw(std::uint32_t key) {
  if (is_over()) return Status();  // all windows were shut
  return Status(windows_.erase(key) == 1 ? 0 : EINVAL);
}

// ---------------------------------------------------------------- the end

void VerbsLink::end_soon(Status status) {
  if (is_over() || ends_) return;
  ends_ = true;
  end_status_ = status;
  context_.ending.push_back(this);
}

void VerbsLink::end_now() {
  if (is_over()) return;
  // Takes in what arrived before the end; a peer that ends in order still leaves posts behind.
  if (queue_pair_) queue_pair_->destroy();
  shut(end_status_.ok() ? Status(ECONNRESET) : end_status_, false);
  state_ = State::kEnded;
  context_.completions.push_last(*completions_, {CompletionKind::kDisconnected, end_status_, 0, token_, 0});
}

void VerbsLink::close() noexcept {
  if (!is_over()) shut(Status(ECANCELED), true);
  state_ = State::kClosed;
}

void VerbsLink::shut(Status status, bool let_messages_leave) noexcept {
  leave_lists();
  const State was = std::exchange(state_, State::kEnded);
  const bool connected = was == State::kOpen;
  const bool unanswered = was == State::kConnecting && is_iwarp();
  const bool messages_leave = connected && let_messages_leave && queue_pair_ &&
                              queue_pair_->has_messages_only() && !queue_pair_->is_idle() &&
                              !queue_pair_->has_failed();
  if (queue_pair_ && (unanswered || messages_leave)) {
    const auto close_later = [&] {
      context_.closing.reserve(context_.closing.size() + 1);
      context_.closing.push_back(std::make_unique<ClosingConnection>(
          channel_, std::move(id_), std::move(queue_pair_), unanswered, kClosingNs));
    };
    contain(close_later, [] {});  // else at once, whatever that holds up
  }
  if (queue_pair_) {
    if (connected) ::rdma_disconnect(id_.get());
    queue_pair_->destroy();
    QueuePair::Unfinished left;
    while (queue_pair_->take_unfinished(left)) complete_cut(left.kind, status, left.token);
    queue_pair_.reset();
  }
  windows_.clear();  // last, so that a peer being served sees the end, not a wrong key
  if (id_) id_->context = &ignore_events;
  id_.reset();
  receives_.for_each(
      [&](const PostedReceive& receive) { complete_cut(CompletionKind::kReceive, status, receive.token); });
  receives_.clear();
}

void VerbsLink::leave_lists() noexcept {
  std::erase(context_.links, this);
  std::erase(context_.replying, this);
  std::erase(context_.ending, this);
  std::erase(context_.timed, this);
}

// ---------------------------------------------------------------- time

void VerbsLink::start_countdown(std::uint64_t after_ns) {
  if (!countdown_.runs()) context_.timed.push_back(this);
  countdown_.start(after_ns);
}

void VerbsLink::stop_countdown() {
  if (countdown_.runs()) std::erase(context_.timed, this);
  countdown_.stop();
}

void VerbsLink::look_at_countdown(std::uint64_t now_ns) {
  contained([&] { nudge_or_end(now_ns); });
}

void VerbsLink::nudge_or_end(std::uint64_t now_ns) {
  if (!countdown_.is_due(now_ns)) return;
  if (queue_pair_ && queue_pair_->has_failed()) return end_soon(Status(ECONNRESET));
  if (heard_ || nudge_after_ns_ > kLastNudgeNs || !queue_pair_) return stop_countdown();
  if (const Status status = queue_pair_->nudge(); !status.ok()) return end_soon(status);
  nudge_after_ns_ *= 2;
  start_countdown(nudge_after_ns_);
}

}  // namespace exs::verbs
