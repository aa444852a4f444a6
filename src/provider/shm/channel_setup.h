// Two ports set up a channel over a Unix socket: credentials, memory, doorbells, and the permissions of each
// towards the other.
//
//   connector                            acceptor
//   connects
//                                        checks the peer's user
//                                     <- greeting(segment, doorbell), or refusal(code) and the end
//   tries the peer's memory
//   greeting(segment, doorbell) ->
//   is ready                             tries the peer's memory
//                                        is ready
//
// The connector checks the peer's user as soon as it has connected.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/unique_fd.h"
#include "src/provider/countdown.h"
#include "src/provider/poller.h"
#include "src/provider/shm/channel.h"
#include "src/provider/shm/control_packet.h"
#include "src/provider/shm/settings.h"

namespace exs::shm {

// One end of the set-up. Thread: shard. Not destroyed while ready() runs.
class ChannelSetup final : public Pollable {
 public:
  // Both outlive it.
  ChannelSetup(const Settings& settings, Poller& poller) : settings_(settings), poller_(poller) {}
  ~ChannelSetup() override;
  ChannelSetup(const ChannelSetup&) = delete;
  ChannelSetup& operator=(const ChannelSetup&) = delete;

  // Starts as the connector to that port's socket.
  void connect(const RandomId& peer_socket);
  // Starts as the acceptor, on what the listening socket accepted.
  void accept(PeerSocket socket);

  enum class State : std::uint8_t {
    kConnecting,
    kAwaitsAcceptorGreeting,
    kAwaitsConnectorGreeting,
    kReady,
    kFailed
  };
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const Reason& why_not() const noexcept { return why_not_; }
  [[nodiscard]] bool accepted() const noexcept { return parts_.accepted; }
  [[nodiscard]] const RandomId& peer_socket() const noexcept { return parts_.peer_socket; }
  // kConnecting: the peer's queue of connections was full.
  void try_connect();
  // kReady. Once.
  Channel::Parts take_parts();

  Countdown limit;  // the directory's

  void ready(std::uint32_t events) override;

 private:
  void take_packet();
  void fail(const Reason& why);
  // The acceptor also notifies its peer.
  void refuse(const Reason& why);
  bool check_user();
  bool make_greeting(ControlPacket& greeting, UniqueFd& memfd);
  bool send_greeting(PacketKind kind);
  bool apply_greeting(ReceivedPacket& received);
  // False: refused.
  bool find_peer_process(const ControlPacket& greeting);
  void handle_refusal(const ControlPacket& refusal);

  const Settings& settings_;
  Poller& poller_;
  State state_ = State::kFailed;
  bool polled_ = false;
  uid_t peer_uid_ = 0;
  Channel::Parts parts_;
  Reason why_not_;
};

}  // namespace exs::shm
