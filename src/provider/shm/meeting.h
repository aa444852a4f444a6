// A connection's way from "maybe the same host" to a place on a channel.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "src/provider/shm/channel.h"
#include "src/provider/shm/identity.h"
#include "src/provider/completion_queue.h"
#include "src/provider/upgrade.h"

namespace exs::shm {

// What a meeting has when it has succeeded: the channel, and both ends' numbers of the link. Gives our number
// back when it goes, so a link keeps it as long as it lives. Thread: shard.
class Place {
 public:
  Place() = default;
  Place(std::shared_ptr<Channel> channel, std::uint32_t our_number, std::uint32_t peer_number) noexcept
      : channel_(std::move(channel)), our_number_(our_number), peer_number_(peer_number) {}
  ~Place() {
    if (channel_) channel_->remove(our_number_);
  }
  Place(Place&& other) noexcept { swap(other); }
  Place& operator=(Place&& other) noexcept {
    Place taken(std::move(other));
    swap(taken);
    return *this;
  }

  [[nodiscard]] Channel& channel() const noexcept { return *channel_; }
  [[nodiscard]] const std::shared_ptr<Channel>& shared_channel() const noexcept { return channel_; }
  [[nodiscard]] std::uint32_t our_number() const noexcept { return our_number_; }
  // By which we address the peer's link.
  [[nodiscard]] std::uint32_t peer_number() const noexcept { return peer_number_; }
  // Known from the answer on.
  void set_peer_number(std::uint32_t number) noexcept { peer_number_ = number; }
  [[nodiscard]] bool is_taken() const noexcept { return channel_ != nullptr; }
  // The initiator's, whose link is made last: only then may the other write to it.
  [[nodiscard]] bool first_to_speak() const noexcept { return channel_->accepted(); }

 private:
  void swap(Place& other) noexcept {
    std::swap(channel_, other.channel_);
    std::swap(our_number_, other.our_number_);
    std::swap(peer_number_, other.peer_number_);
  }

  std::shared_ptr<Channel> channel_;
  std::uint32_t our_number_ = 0;
  std::uint32_t peer_number_ = 0;
};

// Destroyed before the port that made it.
class ShmMeeting : public PendingUpgrade {
 public:
  // Of an invitation: what the peer must be told. Valid while the meeting lives.
  [[nodiscard]] virtual std::span<const std::byte> words() const noexcept = 0;
  // EAGAIN: not met (yet). ECONNRESET: met, but the channel has ended. Once; the place is the caller's then.
  virtual Result<Place> take_place() = 0;
};

class Rendezvous;

// The initiator's side: waits for a peer that knows its token, which is good for one.
class Invited final : public ShmMeeting {
 public:
  Invited(Rendezvous& home, const Invitation& invitation) noexcept;
  ~Invited() override;
  Result<Place> take_place() override;
  [[nodiscard]] std::span<const std::byte> words() const noexcept override { return words_; }
  [[nodiscard]] const Reason& why_not() const noexcept override { return why_not_; }

 private:
  friend class Rendezvous;

  Rendezvous& home_;
  const Name token_;
  const std::array<std::byte, Invitation::kBytes> words_;
  Place place_;
  Reason why_not_;
};

// The responder's side: goes to the initiator's port with its token.
class Visit final : public ShmMeeting {
 public:
  Visit(Rendezvous& home, CompletionQueue& completions, std::uint64_t meeting_token) noexcept;
  ~Visit() override;
  Result<Place> take_place() override;
  [[nodiscard]] std::span<const std::byte> words() const noexcept override { return {}; }
  [[nodiscard]] const Reason& why_not() const noexcept override { return why_not_; }

 private:
  friend class Rendezvous;
  enum class State : std::uint8_t { kAwaitsChannel, kAwaitsAnswer, kMet, kFailed };

  // kUpgradeReady follows.
  void succeed(std::uint32_t peer_number);
  void fail(int error_number, const Reason& why);

  Rendezvous& home_;
  CompletionQueue& completions_;
  const CompletionQueue::SourceHandle source_ = CompletionQueue::make_source();
  const std::uint64_t meeting_token_;
  Invitation invitation_;
  State state_ = State::kAwaitsChannel;
  bool may_retry_ = false;         // it joined a channel that may have been about to close
  std::uint64_t deadline_ns_ = 0;  // 0: not set yet
  Place place_;
  Reason why_not_;
};

}  // namespace exs::shm
