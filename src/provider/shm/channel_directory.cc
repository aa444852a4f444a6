// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/channel_directory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/contain.h"
#include "src/log/log.h"

namespace exs::shm {
namespace {

constexpr int kAcceptsAtOnce = 16;
constexpr std::uint64_t kConnectRetryNs = 1'000'000;

Reason timed_out() {
  return Reason::make(ReasonCode::kTimedOut, "the peer's port did not answer within %u ms",
                      static_cast<unsigned>(ChannelDirectory::kSetupLimitNs / 1'000'000));
}

Reason no_memory() {
  return Reason::make(ReasonCode::kFailed, "no memory");
}

Reason refusal_of(std::uint32_t code) {
  switch (static_cast<ReasonCode>(code)) {
    case ReasonCode::kNoProof:
      return Reason::make(ReasonCode::kNoProof, "the peer's port knows no such invitation");
    case ReasonCode::kNoDescriptors:
      return Reason::make(ReasonCode::kNoDescriptors, "the peer has no descriptor left");
    default: return Reason::make(ReasonCode::kFailed, "the peer's port refuses the connection");
  }
}

int error_of(const Reason& why) {
  return why.code == ReasonCode::kTimedOut ? ETIMEDOUT : ECONNREFUSED;
}

// The time of the channel's next look; 0: now.
std::uint64_t next_look_ns(const ChannelDirectory::OpenChannel& open) {
  if (open.channel->has_packets()) return 0;
  if (open.channel->links().count() > 0) return kNoDeadline;
  return open.channel->is_over() || !open.idle.runs() ? 0 : open.idle.due_ns();
}

}  // namespace

ChannelDirectory::ChannelDirectory(const Settings& settings, Poller& poller, CompletionQueue& completions)
    : settings_(settings),
      poller_(poller),
      completions_(completions),
      listening_(poller, [this] { contain([this] { accept_peers(); }, [] {}); }) {}  // epoll reports it again

ChannelDirectory::~ChannelDirectory() {
  EXS_CHECK(pending_invitations_.empty() && join_requests_.empty());
  for (const OpenChannel& open : channels_) open.channel->end(Status(ECANCELED));
}

// ---------------------------------------------------------------- the initiator's side

Result<std::unique_ptr<ShmUpgrade>> ChannelDirectory::invite(Reason& why_not) {
  const Result<Identity> identity = Identity::of_this_process(why_not);
  if (!identity) return failure(identity.error());
  if (!listening_.is_open() && !listening_.open(why_not)) return failure(ENOTSUP);
  const Result<RandomId> token = random_id();
  if (!token) {
    why_not = Reason::make(ReasonCode::kFailed, "getrandom gives nothing");
    return failure(token.error());
  }
  auto pending = std::make_unique<PendingInvitation>(*this, Invitation{*identity, listening_.id(), *token});
  pending_invitations_.emplace(*token, pending.get());
  return pending;
}

bool ChannelDirectory::has_room() const noexcept {
  if (closing() >= kClosingMax) return false;
  const auto setups =
      std::count_if(setups_.begin(), setups_.end(), [](const auto& setup) { return setup->accepted(); });
  const auto channels =
      std::count_if(channels_.begin(), channels_.end(), [](const OpenChannel& open) { return !open.proven; });
  return static_cast<std::size_t>(setups + channels) < kHalfOpenMax && channels_.size() < kChannelsMax;
}

// Peers beyond the bound wait in the kernel; progress() lets them in.
void ChannelDirectory::accept_peers() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    if (!has_room()) return listening_.pause();
    PeerSocket socket = listening_.accept();
    if (!socket.valid()) return;
    auto setup = std::make_unique<ChannelSetup>(settings_, poller_);
    setup->limit.start(kSetupLimitNs);
    setup->accept(std::move(socket));
    if (setup->state() != ChannelSetup::State::kFailed) setups_.push_back(std::move(setup));
  }
}

void ChannelDirectory::remove(PendingInvitation& pending) {
  const auto found = pending_invitations_.find(pending.token_);
  if (found != pending_invitations_.end() && found->second == &pending) pending_invitations_.erase(found);
}

void ChannelDirectory::answer_join(OpenChannel& open, const ControlPacket& join) {
  Channel& channel = *open.channel;
  if (!channel.accepted() || join.number == 0) return channel.end(Status(EPROTO));
  ControlPacket answer;
  answer.kind = PacketKind::kJoinRefused;
  answer.number = join.number;
  const auto found = pending_invitations_.find(join.id);
  if (found == pending_invitations_.end()) {
    answer.code = static_cast<std::uint32_t>(ReasonCode::kNoProof);
    return channel.send(answer);
  }
  open.proven = true;
  const Result<std::uint32_t> number = channel.reserve_link();
  if (!number) {
    answer.code = static_cast<std::uint32_t>(ReasonCode::kFailed);
    return channel.send(answer);
  }
  found->second->slot_ = ChannelSlot(open.channel, *number, join.number);
  found->second->why_not_ = channel.why_not();
  pending_invitations_.erase(found);
  answer.kind = PacketKind::kJoined;
  answer.peer_number = *number;
  channel.send(answer);
}

// ---------------------------------------------------------------- the responder's side

Result<std::unique_ptr<ShmUpgrade>> ChannelDirectory::join(std::span<const std::byte> invitation,
                                                           std::uint64_t upgrade_token) {
  auto request = std::make_unique<JoinRequest>(*this, completions_, upgrade_token);
  request->limit_.start(kSetupLimitNs);
  join_requests_.push_back(request.get());
  const std::optional<Invitation> decoded = Invitation::decode(invitation);
  if (!decoded) {
    request->fail(ECONNREFUSED,
                  Reason::make(ReasonCode::kFailed, "the peer's invitation is of another version"));
    return request;
  }
  Reason why;
  const Result<Identity> identity = Identity::of_this_process(why);
  if (!identity || !within_reach(*identity, decoded->identity, why)) {
    request->fail(ECONNREFUSED, why);
    return request;
  }
  request->invitation_ = *decoded;
  start(*request);
  return request;
}

std::shared_ptr<Channel> ChannelDirectory::channel_to(const RandomId& peer_socket) const {
  for (const OpenChannel& open : channels_) {
    const Channel& channel = *open.channel;
    if (!channel.is_over() && !channel.accepted() && channel.peer_socket() == peer_socket)
      return open.channel;
  }
  return nullptr;
}

bool ChannelDirectory::is_connecting_to(const RandomId& peer_socket) const {
  return std::any_of(setups_.begin(), setups_.end(), [&](const auto& setup) {
    return !setup->accepted() && setup->peer_socket() == peer_socket;
  });
}

void ChannelDirectory::start(JoinRequest& request) {
  const RandomId& peer_socket = request.invitation_.socket_id;
  request.state_ = JoinRequest::State::kAwaitsChannel;
  if (const auto channel = channel_to(peer_socket)) {
    request.may_retry_ = true;
    return send_join(request, channel);
  }
  if (is_connecting_to(peer_socket)) return;
  if (channels_.size() + setups_.size() >= kChannelsMax) {
    return request.fail(ECONNREFUSED, Reason::make(ReasonCode::kFailed, "this port has too many channels"));
  }
  auto setup = std::make_unique<ChannelSetup>(settings_, poller_);
  setup->limit.start(kSetupLimitNs);
  setup->connect(peer_socket);
  if (setup->state() == ChannelSetup::State::kFailed) return request.fail(ECONNREFUSED, setup->why_not());
  setups_.push_back(std::move(setup));
}

void ChannelDirectory::send_join(JoinRequest& request, const std::shared_ptr<Channel>& channel) {
  const Result<std::uint32_t> number = channel->reserve_link();
  if (!number) {
    return request.fail(ECONNREFUSED,
                        Reason::make(ReasonCode::kFailed, "the channel has too many links, or ended"));
  }
  request.slot_ = ChannelSlot(channel, *number, 0);
  request.state_ = JoinRequest::State::kAwaitsAnswer;
  ControlPacket join;
  join.kind = PacketKind::kJoin;
  join.number = *number;
  join.id = request.invitation_.token;
  channel->send(join);
}

void ChannelDirectory::remove(JoinRequest& request) {
  std::erase(join_requests_, &request);
}

void ChannelDirectory::handle_join_answer(Channel& channel, const ControlPacket& answer) {
  const auto found =
      std::find_if(join_requests_.begin(), join_requests_.end(), [&](const JoinRequest* request) {
        return request->state_ == JoinRequest::State::kAwaitsAnswer &&
               &request->slot_.channel() == &channel && request->slot_.our_number() == answer.number;
      });
  if (found == join_requests_.end()) return;  // given up meanwhile
  JoinRequest& request = **found;
  if (answer.kind == PacketKind::kJoinRefused) return request.fail(ECONNREFUSED, refusal_of(answer.code));
  if (answer.peer_number == 0) return channel.end(Status(EPROTO));
  request.succeed(answer.peer_number);
}

// The refusal follows the acceptor's greeting: the acceptor rejected ours.
void ChannelDirectory::handle_refusal(Channel& channel, const ControlPacket& refusal) {
  const auto awaits_its_answer = [&](const JoinRequest* request) {
    return request->state_ == JoinRequest::State::kAwaitsAnswer && &request->slot_.channel() == &channel;
  };
  while (true) {
    const auto found = std::find_if(join_requests_.begin(), join_requests_.end(), awaits_its_answer);
    if (found == join_requests_.end()) break;
    (*found)->fail(ECONNREFUSED, refusal_of(refusal.code));  // it leaves the list
  }
  channel.end(Status(ECONNREFUSED));
}

JoinRequest* ChannelDirectory::request_awaiting(const RandomId& peer_socket) const {
  const auto found =
      std::find_if(join_requests_.begin(), join_requests_.end(), [&](const JoinRequest* request) {
        return request->state_ == JoinRequest::State::kAwaitsChannel &&
               request->invitation_.socket_id == peer_socket;
      });
  return found == join_requests_.end() ? nullptr : *found;
}

void ChannelDirectory::fail_join_requests(const RandomId& peer_socket, const Reason& why) {
  while (JoinRequest* const request = request_awaiting(peer_socket)) request->fail(error_of(why), why);
}

void ChannelDirectory::advance_join_requests(std::uint64_t now_ns) {
  const std::vector<JoinRequest*> waiting = join_requests_;
  for (JoinRequest* request : waiting) {
    const bool is_late = request->limit_.is_due(now_ns);
    if (request->state_ == JoinRequest::State::kAwaitsAnswer && request->slot_.channel().is_over()) {
      const bool again = std::exchange(request->may_retry_, false);
      request->slot_ = ChannelSlot();
      if (again) {
        contain([&] { start(*request); }, [request] { request->fail(ECONNREFUSED, no_memory()); });
      } else {
        request->fail(ECONNREFUSED, Reason::make(ReasonCode::kFailed, "the peer has left the set-up"));
      }
    } else if (is_late) {
      request->fail(ETIMEDOUT, timed_out());
    }
  }
}

// ---------------------------------------------------------------- both sides

void ChannelDirectory::progress(std::uint64_t now_ns) {
  contain([&] { advance_setups(now_ns); }, [] {});  // the next progress() goes on
  for (OpenChannel& open : channels_) {             // adds no channel
    contain([&] { handle_packets(open); }, [&] { open.channel->end(Status(ENOMEM)); });
  }
  contain([&] { advance_join_requests(now_ns); }, [] {});
  drop_idle(now_ns);
  if (listening_.is_paused()) listening_.resume(now_ns, has_room());
}

void ChannelDirectory::advance_setups(std::uint64_t now_ns) {
  if (setups_.empty()) return;
  next_connect_ns_ = kNoDeadline;
  // Excludes those that a failed join request adds.
  std::vector<std::unique_ptr<ChannelSetup>> at_work;
  at_work.reserve(setups_.size());  // room for those that stay in setups_
  at_work.swap(setups_);
  for (auto& setup : at_work) {
    const bool is_late = setup->limit.is_due(now_ns);
    if (setup->state() == ChannelSetup::State::kConnecting) setup->try_connect();
    if (setup->state() == ChannelSetup::State::kReady) {
      contain([&] { open_channel(*setup); }, [&] { fail_join_requests(setup->peer_socket(), no_memory()); });
      continue;
    }
    const bool failed = setup->state() == ChannelSetup::State::kFailed;
    if (failed || is_late) {
      if (!setup->accepted()) {
        fail_join_requests(setup->peer_socket(), failed ? setup->why_not() : timed_out());
      }
      continue;
    }
    if (setup->state() == ChannelSetup::State::kConnecting) next_connect_ns_ = now_ns + kConnectRetryNs;
    setups_.push_back(std::move(setup));
  }
}

void ChannelDirectory::open_channel(ChannelSetup& setup) {
  const RandomId peer_socket = setup.peer_socket();
  const auto channel = std::make_shared<Channel>(poller_, setup.take_parts());
  if (const Status status = channel->start(); !status.ok()) {
    if (channel->accepted()) return;
    return fail_join_requests(
        peer_socket, Reason::make(ReasonCode::kFailed, "epoll_ctl: %s", std::strerror(status.error())));
  }
  channels_.push_back({channel, !channel->accepted(), channel->accepted() ? setup.limit : Countdown()});
  if (channel->accepted()) return;
  while (JoinRequest* const request = request_awaiting(peer_socket))
    contain([&] { send_join(*request, channel); }, [request] { request->fail(ECONNREFUSED, no_memory()); });
}

void ChannelDirectory::handle_packets(OpenChannel& open) {
  ControlPacket packet;
  while (open.channel->take_packet(packet)) {
    switch (packet.kind) {
      case PacketKind::kJoin: answer_join(open, packet); break;
      case PacketKind::kRefusal: handle_refusal(*open.channel, packet); break;
      default: handle_join_answer(*open.channel, packet); break;
    }
  }
}

void ChannelDirectory::drop_idle(std::uint64_t now_ns) {
  for (OpenChannel& open : channels_) {
    Channel& channel = *open.channel;
    if (channel.links().count() > 0) {
      open.idle.stop();
      continue;
    }
    if (!open.idle.runs()) open.idle.start(channel.accepted() ? kIdleAcceptedNs : kIdleConnectedNs);
    if (open.idle.is_due(now_ns)) {
      channel.end(Status(ECANCELED));
    }
  }
  std::erase_if(channels_, [](const OpenChannel& open) {
    return open.channel->is_over() && open.channel->links().count() == 0;
  });
}

std::uint64_t ChannelDirectory::next_deadline_ns() const noexcept {
  std::uint64_t soonest = next_connect_ns_;
  if (listening_.retry_ns() != 0) soonest = std::min(soonest, listening_.retry_ns());
  for (const auto& setup : setups_) {
    const bool waits =
        setup->state() != ChannelSetup::State::kReady && setup->state() != ChannelSetup::State::kFailed;
    soonest = std::min(soonest, waits ? setup->limit.due_ns() : 0);
  }
  for (const JoinRequest* request : join_requests_) soonest = std::min(soonest, request->limit_.due_ns());
  for (const OpenChannel& open : channels_) soonest = std::min(soonest, next_look_ns(open));
  return soonest;
}

}  // namespace exs::shm
