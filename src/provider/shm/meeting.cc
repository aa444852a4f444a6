#include "src/provider/shm/meeting.h"

#include <cerrno>

#include "src/provider/shm/rendezvous.h"

namespace exs::shm {

Invited::Invited(Rendezvous& home, const Invitation& invitation) noexcept
    : home_(home), token_(invitation.token), words_(invitation.encode()) {}

Invited::~Invited() {
  home_.forget(*this);
}

Result<Place> Invited::take_place() {
  if (!place_.is_taken()) return failure(EAGAIN);
  if (place_.channel().is_over()) return failure(ECONNRESET);
  return std::move(place_);
}

Visit::Visit(Rendezvous& home, CompletionQueue& completions, std::uint64_t meeting_token) noexcept
    : home_(home), completions_(completions), meeting_token_(meeting_token) {}

Visit::~Visit() {
  home_.forget(*this);
}

Result<Place> Visit::take_place() {
  if (state_ != State::kMet || !place_.is_taken()) return failure(EAGAIN);
  if (place_.channel().is_over()) return failure(ECONNRESET);
  return std::move(place_);
}

void Visit::succeed(std::uint32_t peer_number) {
  place_.set_peer_number(peer_number);
  why_not_ = place_.channel().why_not();
  state_ = State::kMet;
  home_.forget(*this);
  completions_.push(*source_, {CompletionKind::kUpgradeReady, {}, 0, meeting_token_, 0});
}

void Visit::fail(int error_number, const Reason& why) {
  place_ = Place();
  why_not_ = why;
  state_ = State::kFailed;
  home_.forget(*this);
  completions_.push(*source_, {CompletionKind::kUpgradeReady, Status(error_number), 0, meeting_token_, 0});
}

}  // namespace exs::shm
