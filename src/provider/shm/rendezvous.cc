#include "src/provider/shm/rendezvous.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/kernel.h"
#include "src/base/log.h"

namespace exs::shm {
namespace {

constexpr int kBacklog = 128;
constexpr int kAcceptsAtOnce = 16;
constexpr std::uint64_t kKnockEveryNs = 1'000'000;
constexpr std::uint64_t kDoorRetryNs = 100'000'000;

UniqueFd make_spare() {
  return UniqueFd(kernel::eventfd(0, EFD_CLOEXEC));
}

Reason timed_out() {
  return Reason::make(ReasonCode::kTimedOut, "the peer's rendezvous did not answer within %u ms",
                      static_cast<unsigned>(Rendezvous::kSetupLimitNs / 1'000'000));
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

}  // namespace

Rendezvous::Rendezvous(const Settings& settings, Poller& poller, CompletionQueue& completions)
    : settings_(settings), poller_(poller), completions_(completions) {}

Rendezvous::~Rendezvous() {
  EXS_CHECK(invited_.empty() && visits_.empty());
  for (const auto& channel : channels_) channel->end(Status(ECANCELED));
  if (listener_.valid()) poller_.remove(listener_.get());
}

// The initiator's side.

Result<std::unique_ptr<ShmMeeting>> Rendezvous::invite(Reason& why_not) {
  const Result<Identity> identity = Identity::of_this_process(why_not);
  if (!identity) return failure(identity.error());
  if (!listener_.valid() && !listen(why_not)) return failure(ENOTSUP);
  const Result<Name> token = draw_name();
  if (!token) {
    why_not = Reason::make(ReasonCode::kFailed, "getrandom gives nothing");
    return failure(token.error());
  }
  auto invited = std::make_unique<Invited>(*this, Invitation{*identity, name_, *token});
  invited_.emplace(*token, invited.get());
  return invited;
}

bool Rendezvous::listen(Reason& why_not) {
  const Result<Name> name = draw_name();
  if (!name) {
    why_not = Reason::make(ReasonCode::kFailed, "getrandom gives nothing");
    return false;
  }
  UniqueFd listener(kernel::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  UniqueFd spare = make_spare();
  if (!listener.valid() || !spare.valid()) {
    const bool lacking = errno == EMFILE || errno == ENFILE;
    why_not = Reason::make(lacking ? ReasonCode::kNoDescriptors : ReasonCode::kNoUnixSocket,
                           "abstract Unix socket: %s", std::strerror(errno));
    return false;
  }
  const RendezvousAddress address(*name);
  if (kernel::bind(listener.get(), address.get(), address.bytes) != 0 ||
      kernel::listen(listener.get(), kBacklog) != 0) {
    why_not = Reason::make(ReasonCode::kNoUnixSocket, "bind or listen of an abstract Unix socket: %s",
                           std::strerror(errno));
    return false;
  }
  if (const Status status = poller_.add(listener.get(), EPOLLIN, door_); !status.ok()) {
    why_not = Reason::make(ReasonCode::kFailed, "epoll_ctl: %s", std::strerror(status.error()));
    return false;
  }
  door_open_ = true;
  name_ = *name;
  listener_ = std::move(listener);
  spare_ = std::move(spare);
  return true;
}

void Rendezvous::watch_door(bool open) {
  if (!listener_.valid() || door_open_ == open) return;
  door_open_ = open;
  poller_.change(listener_.get(), open ? EPOLLIN : 0U, door_);
}

std::size_t Rendezvous::half_open() const noexcept {
  const auto setups =
      std::count_if(setups_.begin(), setups_.end(), [](const auto& setup) { return setup->accepted(); });
  const auto channels =
      std::count_if(clocks_.begin(), clocks_.end(), [](const Clock& clock) { return !clock.proven; });
  return static_cast<std::size_t>(setups + channels);
}

// Peers beyond the bound wait in the kernel; progress() opens again.
void Rendezvous::open_door() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    if (half_open() >= kHalfOpenMax || channels_.size() >= kChannelsMax) return watch_door(false);
    UniqueFd socket(kernel::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      if (errno == EMFILE || errno == ENFILE) refuse_for_want_of_descriptors();
      return;
    }
    auto setup = std::make_unique<ChannelSetup>(settings_, poller_);
    setup->accept(std::move(socket));
    if (setup->state() != ChannelSetup::State::kFailed) setups_.push_back(std::move(setup));
  }
}

void Rendezvous::refuse_for_want_of_descriptors() {
  spare_.reset();
  {
    const UniqueFd socket(kernel::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.valid()) {
      Note refusal;
      refusal.kind = NoteKind::kRefusal;
      refusal.code = static_cast<std::uint32_t>(ReasonCode::kNoDescriptors);
      [[maybe_unused]] const Status sent = send_note(socket.get(), refusal);
    }
  }
  spare_ = make_spare();
  // Somebody took the one that was free. progress() tries again.
  if (!spare_.valid()) watch_door(false);
}

void Rendezvous::reopen_door(std::uint64_t now_ns) {
  if (door_open_ || !listener_.valid() || now_ns < door_retry_ns_) return;
  door_retry_ns_ = 0;
  if (half_open() >= kHalfOpenMax || channels_.size() >= kChannelsMax) return;
  if (!spare_.valid()) spare_ = make_spare();
  if (spare_.valid()) {
    watch_door(true);
  } else {
    door_retry_ns_ = now_ns + kDoorRetryNs;
  }
}

void Rendezvous::forget(Invited& invited) {
  const auto found = invited_.find(invited.token_);
  if (found != invited_.end() && found->second == &invited) invited_.erase(found);
}

void Rendezvous::answer_join(const std::shared_ptr<Channel>& channel, Clock& clock, const Note& join) {
  if (!channel->accepted() || join.number == 0) return channel->end(Status(EPROTO));
  Note answer;
  answer.kind = NoteKind::kNotJoined;
  answer.number = join.number;
  const auto found = invited_.find(join.name);
  if (found == invited_.end()) {
    answer.code = static_cast<std::uint32_t>(ReasonCode::kNoProof);
    return channel->tell(answer);
  }
  clock.proven = true;
  const Result<std::uint32_t> number = channel->reserve();
  if (!number) {
    answer.code = static_cast<std::uint32_t>(ReasonCode::kFailed);
    return channel->tell(answer);
  }
  found->second->place_ = Place(channel, *number, join.number);
  found->second->why_not_ = channel->why_not();
  invited_.erase(found);
  answer.kind = NoteKind::kJoined;
  answer.peer_number = *number;
  channel->tell(answer);
}

// The responder's side.

Result<std::unique_ptr<ShmMeeting>> Rendezvous::meet(std::span<const std::byte> words,
                                                     std::uint64_t meeting_token) {
  auto visit = std::make_unique<Visit>(*this, completions_, meeting_token);
  visits_.push_back(visit.get());
  const std::optional<Invitation> invitation = Invitation::decode(words);
  if (!invitation) {
    visit->fail(ECONNREFUSED,
                Reason::make(ReasonCode::kFailed, "the peer's invitation is of another version"));
    return visit;
  }
  Reason why;
  const Result<Identity> identity = Identity::of_this_process(why);
  if (!identity || !within_reach(*identity, invitation->identity, why)) {
    visit->fail(ECONNREFUSED, why);
    return visit;
  }
  visit->invitation_ = *invitation;
  begin(*visit);
  return visit;
}

std::shared_ptr<Channel> Rendezvous::channel_to(const Name& rendezvous) const {
  for (const auto& channel : channels_) {
    if (!channel->is_over() && !channel->accepted() && channel->rendezvous() == rendezvous) return channel;
  }
  return nullptr;
}

ChannelSetup* Rendezvous::setup_to(const Name& rendezvous) {
  for (const auto& setup : setups_) {
    if (!setup->accepted() && setup->rendezvous() == rendezvous) return setup.get();
  }
  return nullptr;
}

void Rendezvous::begin(Visit& visit) {
  const Name& rendezvous = visit.invitation_.rendezvous;
  visit.state_ = Visit::State::kAwaitsChannel;
  if (const auto channel = channel_to(rendezvous)) {
    visit.may_retry_ = true;
    return join(visit, channel);
  }
  if (setup_to(rendezvous) != nullptr) return;
  if (channels_.size() + setups_.size() >= kChannelsMax) {
    return visit.fail(ECONNREFUSED, Reason::make(ReasonCode::kFailed, "this port has too many channels"));
  }
  auto setup = std::make_unique<ChannelSetup>(settings_, poller_);
  setup->connect(rendezvous);
  if (setup->state() == ChannelSetup::State::kFailed) return visit.fail(ECONNREFUSED, setup->why_not());
  setups_.push_back(std::move(setup));
}

void Rendezvous::join(Visit& visit, const std::shared_ptr<Channel>& channel) {
  const Result<std::uint32_t> number = channel->reserve();
  if (!number) {
    return visit.fail(ECONNREFUSED,
                      Reason::make(ReasonCode::kFailed, "the channel has too many links, or ended"));
  }
  visit.place_ = Place(channel, *number, 0);
  visit.state_ = Visit::State::kAwaitsAnswer;
  Note note;
  note.kind = NoteKind::kJoin;
  note.number = *number;
  note.name = visit.invitation_.token;
  channel->tell(note);
}

void Rendezvous::forget(Visit& visit) {
  std::erase(visits_, &visit);
}

void Rendezvous::hear_answer(Channel& channel, const Note& answer) {
  const auto found = std::find_if(visits_.begin(), visits_.end(), [&](const Visit* visit) {
    return visit->state_ == Visit::State::kAwaitsAnswer && &visit->place_.channel() == &channel &&
           visit->place_.our_number() == answer.number;
  });
  if (found == visits_.end()) return;  // given up meanwhile
  Visit& visit = **found;
  if (answer.kind == NoteKind::kNotJoined) return visit.fail(ECONNREFUSED, refusal_of(answer.code));
  if (answer.peer_number == 0) return channel.end(Status(EPROTO));
  visit.succeed(answer.peer_number);
}

// Both.

void Rendezvous::progress(std::uint64_t now_ns) {
  advance_setups(now_ns);
  // By index: a visit that has to begin anew may not add channels, but answers change them.
  for (std::size_t i = 0; i < channels_.size(); ++i) hear(channels_[i], clocks_[i]);
  advance_visits(now_ns);
  drop_idle(now_ns);
  reopen_door(now_ns);
}

void Rendezvous::advance_setups(std::uint64_t now_ns) {
  next_knock_ns_ = kNoDeadline;
  // Without those that a failed visit adds.
  std::vector<std::unique_ptr<ChannelSetup>> at_work;
  at_work.swap(setups_);
  for (auto& setup : at_work) {
    if (setup->deadline_ns == 0) setup->deadline_ns = now_ns + kSetupLimitNs;
    if (setup->state() == ChannelSetup::State::kKnocking) setup->knock();
    if (setup->state() == ChannelSetup::State::kReady) {
      open_channel(*setup);
      continue;
    }
    const bool failed = setup->state() == ChannelSetup::State::kFailed;
    if (failed || now_ns >= setup->deadline_ns) {
      if (!setup->accepted()) fail_visits(setup->rendezvous(), failed ? setup->why_not() : timed_out());
      continue;
    }
    if (setup->state() == ChannelSetup::State::kKnocking) next_knock_ns_ = now_ns + kKnockEveryNs;
    setups_.push_back(std::move(setup));
  }
}

void Rendezvous::fail_visits(const Name& rendezvous, const Reason& why) {
  const std::vector<Visit*> waiting = visits_;
  for (Visit* visit : waiting) {
    if (visit->state_ == Visit::State::kAwaitsChannel && visit->invitation_.rendezvous == rendezvous) {
      visit->fail(error_of(why), why);
    }
  }
}

void Rendezvous::open_channel(ChannelSetup& setup) {
  const Name rendezvous = setup.rendezvous();
  const auto channel = std::make_shared<Channel>(poller_, setup.take_parts());
  if (const Status status = channel->start(); !status.ok()) {
    if (channel->accepted()) return;
    return fail_visits(rendezvous,
                       Reason::make(ReasonCode::kFailed, "epoll_ctl: %s", std::strerror(status.error())));
  }
  channels_.push_back(channel);
  clocks_.push_back({.proven = !channel->accepted(), .overdue_ns = setup.accepted() ? setup.deadline_ns : 0});
  if (channel->accepted()) return;
  const std::vector<Visit*> waiting = visits_;
  for (Visit* visit : waiting) {
    if (visit->state_ == Visit::State::kAwaitsChannel && visit->invitation_.rendezvous == rendezvous) {
      join(*visit, channel);
    }
  }
}

void Rendezvous::hear(const std::shared_ptr<Channel>& channel, Clock& clock) {
  Note note;
  while (channel->take_note(note)) {
    switch (note.kind) {
      case NoteKind::kJoin: answer_join(channel, clock, note); break;
      case NoteKind::kRefusal: hear_refusal(*channel, note); break;
      default: hear_answer(*channel, note); break;
    }
  }
}

// It came after the welcome: our greeting was not to the acceptor's taste.
void Rendezvous::hear_refusal(Channel& channel, const Note& refusal) {
  const std::vector<Visit*> waiting = visits_;
  for (Visit* visit : waiting) {
    if (visit->state_ == Visit::State::kAwaitsAnswer && &visit->place_.channel() == &channel) {
      visit->fail(ECONNREFUSED, refusal_of(refusal.code));
    }
  }
  channel.end(Status(ECONNREFUSED));
}

void Rendezvous::advance_visits(std::uint64_t now_ns) {
  const std::vector<Visit*> waiting = visits_;
  for (Visit* visit : waiting) {
    if (visit->deadline_ns_ == 0) visit->deadline_ns_ = now_ns + kSetupLimitNs;
    if (visit->state_ == Visit::State::kAwaitsAnswer && visit->place_.channel().is_over()) {
      const bool again = std::exchange(visit->may_retry_, false);
      visit->place_ = Place();
      if (again) {
        begin(*visit);
      } else {
        visit->fail(ECONNREFUSED, Reason::make(ReasonCode::kFailed, "the peer has left the set-up"));
      }
    } else if (now_ns >= visit->deadline_ns_) {
      visit->fail(ETIMEDOUT, timed_out());
    }
  }
}

void Rendezvous::drop_idle(std::uint64_t now_ns) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    Channel& channel = *channels_[i];
    Clock& clock = clocks_[i];
    if (channel.numbers() > 0) {
      clock.overdue_ns = 0;
    } else if (clock.overdue_ns == 0) {
      clock.overdue_ns = now_ns + (channel.accepted() ? kIdleAcceptedNs : kIdleConnectedNs);
    } else if (now_ns >= clock.overdue_ns) {
      channel.end(Status(ECANCELED));
    }
    if (channel.is_over() && channel.numbers() == 0) continue;
    if (kept != i) {
      channels_[kept] = std::move(channels_[i]);
      clocks_[kept] = clocks_[i];
    }
    ++kept;
  }
  channels_.resize(kept);
  clocks_.resize(kept);
}

std::uint64_t Rendezvous::next_deadline_ns() const noexcept {
  std::uint64_t soonest = next_knock_ns_;
  if (door_retry_ns_ != 0) soonest = std::min(soonest, door_retry_ns_);
  for (const auto& setup : setups_) {
    const bool waits =
        setup->state() != ChannelSetup::State::kReady && setup->state() != ChannelSetup::State::kFailed;
    soonest = std::min(soonest, waits ? setup->deadline_ns : 0);
  }
  for (const Visit* visit : visits_) soonest = std::min(soonest, visit->deadline_ns_);
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const Channel& channel = *channels_[i];
    if (channel.numbers() == 0) soonest = std::min(soonest, channel.is_over() ? 0 : clocks_[i].overdue_ns);
    if (channel.has_notes()) soonest = 0;
  }
  return soonest;
}

}  // namespace exs::shm
