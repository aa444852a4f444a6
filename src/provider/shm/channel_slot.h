// A link's reservation on a channel: the number by which each end addresses the other's link.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "src/provider/shm/channel.h"

namespace exs::shm {

// The result of a join. Its destructor gives our number back, so a link keeps it as long as it lives. Thread:
// shard.
class ChannelSlot {
 public:
  ChannelSlot() = default;
  ChannelSlot(std::shared_ptr<Channel> channel, std::uint32_t our_number, std::uint32_t peer_number) noexcept
      : channel_(std::move(channel)), our_number_(our_number), peer_number_(peer_number) {}
  ~ChannelSlot() {
    if (channel_) channel_->links().remove(our_number_);
  }
  ChannelSlot(ChannelSlot&& other) noexcept { swap(other); }
  ChannelSlot& operator=(ChannelSlot&& other) noexcept {
    ChannelSlot taken(std::move(other));
    swap(taken);
    return *this;
  }

  [[nodiscard]] Channel& channel() const noexcept { return *channel_; }
  [[nodiscard]] const std::shared_ptr<Channel>& shared_channel() const noexcept { return channel_; }
  [[nodiscard]] std::uint32_t our_number() const noexcept { return our_number_; }
  // The number by which we address the peer's link.
  [[nodiscard]] std::uint32_t peer_number() const noexcept { return peer_number_; }
  // The responder learns it from the answer to its join.
  void set_peer_number(std::uint32_t number) noexcept { peer_number_ = number; }
  [[nodiscard]] bool is_reserved() const noexcept { return channel_ != nullptr; }
  // The initiator's link is made last, and only then may the responder write to it: it says so by a kReady.
  [[nodiscard]] bool sends_ready() const noexcept { return channel_->accepted(); }

 private:
  void swap(ChannelSlot& other) noexcept {
    std::swap(channel_, other.channel_);
    std::swap(our_number_, other.our_number_);
    std::swap(peer_number_, other.peer_number_);
  }

  std::shared_ptr<Channel> channel_;
  std::uint32_t our_number_ = 0;
  std::uint32_t peer_number_ = 0;
};

}  // namespace exs::shm
