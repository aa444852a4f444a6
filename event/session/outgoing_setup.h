// The set-up of a connect. Tries the ways to the peer, one after the other, until one leads to a provider
// that both ends allow.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>

#include "base/contain.h"
#include "event/engine/deadline.h"
#include "event/session/connection_setup.h"

namespace exs {

class OutgoingSetup final : public ConnectionSetup {
 public:
  OutgoingSetup(const Context& context, const sockaddr_storage& peer, socklen_t peer_bytes);

  void start();
  void complete(const Completion& completion) override;
  void explain(Status why) override;
  [[nodiscard]] std::string what_failed(Status why) override;

 private:
  [[nodiscard]] const char* direction() const noexcept override { return "to"; }
  [[nodiscard]] const sockaddr_storage* peer() const noexcept override { return &peer_; }
  [[nodiscard]] const sockaddr& address() const { return *as_sockaddr(peer_); }
  [[nodiscard]] bool by_device() const noexcept { return way_ != Role::kNetwork; }

  void try_next_way();
  Status connect_by_device();
  Status connect_by_network();
  void established();
  Status change_link(const proto::Agreement& agreement, Reason& limit);
  void link_failed(Status why);
  void note_outcome(Status why);
  void leave_way(Status why);
  void leave_link();
  void time_is_up(std::uint64_t now_ns);
  [[nodiscard]] bool device_is_slow(std::uint64_t now_ns) const;
  void give_up_device();
  void arm(std::uint64_t deadline_ns) { due_.set(shard(), deadline_ns, shared_from_this()); }

  const sockaddr_storage peer_;
  const socklen_t peer_bytes_;
  const std::uint64_t deadline_ns_;  // of all ways together
  Deadline due_{[this](std::uint64_t now_ns) {
    contain([&] { time_is_up(now_ns); }, [this] { client().setup_failed(Status(ENOMEM)); });
  }};
  Role way_ = Role::kNetwork;  // the one being tried
  bool network_tried_ = false;
  ConnectStage stage_ = ConnectStage::kReaching;  // of the last way
  bool rejected_ = false;
  std::optional<bool> accepted_;  // by a program of this host, when it was too late
  // The error if no way is left: that of the network, if it was tried, because it reaches every peer.
  Status outcome_{EOPNOTSUPP};
};

}  // namespace exs
