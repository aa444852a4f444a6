// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/join.h"

#include <cerrno>

namespace exs::shm {

PendingInvitation::PendingInvitation(JoinList& list, const Invitation& invitation) noexcept
    : list_(list), token_(invitation.token), invitation_(invitation.encode()) {}

PendingInvitation::~PendingInvitation() {
  list_.remove(*this);
}

Result<ChannelSlot> PendingInvitation::take_slot() {
  if (!slot_.is_reserved()) return failure(EAGAIN);
  if (slot_.channel().is_over()) return failure(ECONNRESET);
  return std::move(slot_);
}

JoinRequest::JoinRequest(JoinList& list, CompletionQueue& completions, std::uint64_t upgrade_token)
    : list_(list), completions_(completions), upgrade_token_(upgrade_token) {}

JoinRequest::~JoinRequest() {
  list_.remove(*this);
}

Result<ChannelSlot> JoinRequest::take_slot() {
  if (state_ != State::kJoined || !slot_.is_reserved()) return failure(EAGAIN);
  if (slot_.channel().is_over()) return failure(ECONNRESET);
  return std::move(slot_);
}

void JoinRequest::succeed(std::uint32_t peer_number) {
  slot_.set_peer_number(peer_number);
  why_not_ = slot_.channel().why_not();
  state_ = State::kJoined;
  list_.remove(*this);
  completions_.push_last(*source_, {CompletionKind::kUpgradeReady, {}, 0, upgrade_token_, 0});
}

void JoinRequest::fail(int error_number, const Reason& why) {
  slot_ = ChannelSlot();
  why_not_ = why;
  state_ = State::kFailed;
  list_.remove(*this);
  completions_.push_last(*source_,
                         {CompletionKind::kUpgradeReady, Status(error_number), 0, upgrade_token_, 0});
}

}  // namespace exs::shm
