// How the ports of one host find each other: a port's open channels, those that are being set up, and the
// invitations and join requests that wait for them.
//
// The initiator's invitation holds the id of its port's abstract socket, and a token. The responder's port
// connects to that socket unless it has a channel there already, and joins with the token; the answer carries
// the number of the initiator's link. Two ports that invite each other have two channels, one for each
// direction, because only having connected to a socket proves whose it is.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "src/provider/completion_queue.h"
#include "src/provider/countdown.h"
#include "src/provider/poller.h"
#include "src/provider/shm/channel.h"
#include "src/provider/shm/channel_setup.h"
#include "src/provider/shm/identity.h"
#include "src/provider/shm/join.h"
#include "src/provider/shm/listening_socket.h"
#include "src/provider/shm/settings.h"

namespace exs::shm {

// The channels of one port. Thread: shard.
class ChannelDirectory final : public JoinList {
 public:
  static constexpr std::uint64_t kSetupLimitNs = 1'000'000'000;  // of a set-up, and of a join request
  static constexpr std::size_t kHalfOpenMax = 64;  // set-ups by peers, and channels they made without proof
  static constexpr std::size_t kChannelsMax = 4096;
  // A channel without links waits this long for another one. The connected end gives up first, so that no
  // link joins a channel that is about to close.
  static constexpr std::uint64_t kIdleConnectedNs = 5'000'000'000;
  static constexpr std::uint64_t kIdleAcceptedNs = 30'000'000'000;

  struct OpenChannel {
    std::shared_ptr<Channel> channel;
    bool proven = false;  // a token was right, or we connected
    Countdown idle;       // until it ends by itself
  };

  // All outlive it.
  ChannelDirectory(const Settings& settings, Poller& poller, CompletionQueue& completions);
  // Destroy its invitations and join requests first. Channels live on with their links.
  ~ChannelDirectory() override;
  ChannelDirectory(const ChannelDirectory&) = delete;
  ChannelDirectory& operator=(const ChannelDirectory&) = delete;

  // ConnectionUpgrade::offer and begin.
  Result<std::unique_ptr<ShmUpgrade>> invite(Reason& why_not);
  Result<std::unique_ptr<ShmUpgrade>> join(std::span<const std::byte> invitation,
                                           std::uint64_t upgrade_token);

  // Runs after each poll of the descriptors: handles what was received, ends what is overdue, drops what is
  // over.
  void progress(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept;
  // A channel that is over leaves once it has no links. Only progress() changes the list.
  [[nodiscard]] std::span<const OpenChannel> channels() const noexcept { return channels_; }

  // --- JoinList ---
  void remove(PendingInvitation& pending) override;
  void remove(JoinRequest& request) override;

 private:
  void accept_peers();
  [[nodiscard]] bool has_room() const noexcept;
  void answer_join(OpenChannel& open, const ControlPacket& join);

  void start(JoinRequest& request);
  void send_join(JoinRequest& request, const std::shared_ptr<Channel>& channel);
  void handle_join_answer(Channel& channel, const ControlPacket& answer);
  void handle_refusal(Channel& channel, const ControlPacket& refusal);
  // Null: no request waits for it.
  [[nodiscard]] JoinRequest* request_awaiting(const RandomId& peer_socket) const;
  void fail_join_requests(const RandomId& peer_socket, const Reason& why);
  void advance_join_requests(std::uint64_t now_ns);
  [[nodiscard]] std::shared_ptr<Channel> channel_to(const RandomId& peer_socket) const;
  [[nodiscard]] bool is_connecting_to(const RandomId& peer_socket) const;

  void advance_setups(std::uint64_t now_ns);
  void open_channel(ChannelSetup& setup);
  void handle_packets(OpenChannel& open);
  void drop_idle(std::uint64_t now_ns);

  const Settings& settings_;
  Poller& poller_;
  CompletionQueue& completions_;
  ListeningSocket listening_;
  std::uint64_t next_connect_ns_ = kNoDeadline;
  std::vector<std::unique_ptr<ChannelSetup>> setups_;
  std::vector<OpenChannel> channels_;
  std::map<RandomId, PendingInvitation*> pending_invitations_;  // by token
  std::vector<JoinRequest*> join_requests_;                     // that wait
};

}  // namespace exs::shm
