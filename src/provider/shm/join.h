// A connection's two sides of joining a channel: the initiator's invitation that waits for its peer, and the
// responder's request to join.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "src/provider/completion_queue.h"
#include "src/provider/countdown.h"
#include "src/provider/shm/channel_slot.h"
#include "src/provider/shm/identity.h"
#include "src/provider/upgrade.h"

namespace exs::shm {

class ChannelDirectory;
class PendingInvitation;
class JoinRequest;

// The directory, as far as these two leave it.
class JoinList {
 public:
  virtual ~JoinList() = default;
  virtual void remove(PendingInvitation& pending) = 0;
  virtual void remove(JoinRequest& request) = 0;
};

// Destroyed before the port that made it.
class ShmUpgrade : public PendingUpgrade {
 public:
  // The bytes for the peer; empty for a join request. Valid while the upgrade lives.
  [[nodiscard]] virtual std::span<const std::byte> invitation() const noexcept = 0;
  // EAGAIN: not joined (yet). ECONNRESET: joined, but the channel has ended. Once; the slot is the caller's
  // then.
  virtual Result<ChannelSlot> take_slot() = 0;
};

// The initiator's side: waits for a peer that knows its token, which is good for one peer.
class PendingInvitation final : public ShmUpgrade {
 public:
  PendingInvitation(JoinList& list, const Invitation& invitation) noexcept;
  ~PendingInvitation() override;
  Result<ChannelSlot> take_slot() override;
  [[nodiscard]] std::span<const std::byte> invitation() const noexcept override { return invitation_; }
  [[nodiscard]] const Reason& why_not() const noexcept override { return why_not_; }

 private:
  friend class ChannelDirectory;

  JoinList& list_;
  const RandomId token_;
  const std::array<std::byte, Invitation::kBytes> invitation_;
  ChannelSlot slot_;
  Reason why_not_;
};

// The responder's side: joins a channel to the initiator's port with the initiator's token.
class JoinRequest final : public ShmUpgrade {
 public:
  JoinRequest(JoinList& list, CompletionQueue& completions, std::uint64_t upgrade_token);
  ~JoinRequest() override;
  Result<ChannelSlot> take_slot() override;
  [[nodiscard]] std::span<const std::byte> invitation() const noexcept override { return {}; }
  [[nodiscard]] const Reason& why_not() const noexcept override { return why_not_; }

 private:
  friend class ChannelDirectory;
  enum class State : std::uint8_t { kAwaitsChannel, kAwaitsAnswer, kJoined, kFailed };

  // Both report a kUpgradeReady.
  void succeed(std::uint32_t peer_number);
  void fail(int error_number, const Reason& why);

  JoinList& list_;
  CompletionQueue& completions_;
  const CompletionQueue::SourceHandle source_ = completions_.make_source();
  const std::uint64_t upgrade_token_;
  Invitation invitation_;
  State state_ = State::kAwaitsChannel;
  bool may_retry_ = false;  // it joined a channel that may have been about to close
  Countdown limit_;
  ChannelSlot slot_;
  Reason why_not_;
};

}  // namespace exs::shm
