// Decides which provider carries a connection, from the choices of both ends, and collects the reasons.
//
// A connection is set up in one of two ways: through an RDMA device, or through the network, which can also
// lead to the provider for processes of one host. The initiator alone decides which ways it tries, and in
// which order. On the way through the network both ends exchange their choices in the private data
// (FORMAT.md, Paths), and the responder decides: of the providers that both ends allow it takes the one that
// the initiator prefers, else the one that it prefers itself, else the first in the default order.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/provider/explanation.h"
#include "src/provider/provider_set.h"
#include "src/provider/upgrade.h"

namespace exs {

class Shard;

// Thread: shard.
class Route {
 public:
  Route(const ProviderSet& providers, const Choice& choice) : providers_(providers), choice_(choice) {}

  // --- initiator ---
  // Determines the ways to try: kDevice, and kNetwork, which can also lead to kSameHost.
  void plan(Shard& shard, const sockaddr& peer);
  // Returns the next way whose provider can reach the peer. Nothing: none is left.
  std::optional<Role> next_way(Shard& shard, const sockaddr& peer);
  [[nodiscard]] bool has_other_way() const noexcept { return !ways_.empty(); }
  void device_failed(const Reason& why, bool told_by_peer);
  // Returns the private data of a connect through the network: `hello` and this end's choice. EOPNOTSUPP: no
  // provider is left that the choice allows.
  Result<std::vector<std::byte>> ask(Shard& shard, std::span<const std::byte> hello);
  // Reads the peer's answer to a connect through `way`, and returns the provider that the peer took. EPROTO:
  // the answer is invalid. EOPNOTSUPP: this end does not allow that provider.
  Result<Role> learn(Role way, std::span<const std::byte> private_data);
  // Reads the reasons of a peer that has refused, if it gives any.
  void learn_refusal(std::span<const std::byte> private_data);

  // --- responder ---
  // Returns the provider to take; for kSameHost an upgrade must succeed first. Nothing: there is none that
  // both ends allow. `came_by` is the role of the provider that received the request, `private_data` is the
  // peer's, `why_no_device` is the reason why peers cannot connect through an RDMA device, if there is one.
  std::optional<Role> decide(Shard& shard, Role came_by, std::span<const std::byte> private_data,
                             const Reason& why_no_device);
  // Returns the provider to take after the upgrade to kSameHost has failed.
  std::optional<Role> fall_back(const Reason& why);
  // Returns the private data of the answer, or of the refusal if no provider is taken.
  [[nodiscard]] std::vector<std::byte> answer(std::span<const std::byte> hello,
                                              std::optional<Role> taken) const;
  // The peer's invitation to an upgrade.
  [[nodiscard]] std::span<const std::byte> invitation() const noexcept { return invitation_; }

  // --- both ---
  // The provider `taken` carries the connection; `link_limit` is the limitation of its link, if there is one.
  void settled(Shard& shard, Role taken, const Reason& link_limit);
  // No provider is left: adds what this end's choice excludes to the reasons.
  void failed();
  [[nodiscard]] std::unique_ptr<PendingUpgrade> take_upgrade() { return std::move(upgrade_); }
  // The connection has ended. An upgrade may not go with the session, whose last user may be any thread.
  void drop_upgrade() noexcept { upgrade_.reset(); }
  [[nodiscard]] const Explanation& explanation() const noexcept { return explanation_; }

 private:
  static bool tells_of(const Explanation& explanation, const Provider& provider);
  [[nodiscard]] bool network_comes_first(Shard& shard, const sockaddr& peer) const;
  [[nodiscard]] std::optional<Role> next_candidate(Shard& shard);
  [[nodiscard]] std::optional<Reason> why_not(Shard& shard, Role role) const;
  [[nodiscard]] bool allows(Role role) const noexcept { return providers_.allows(choice_, role); }
  [[nodiscard]] bool prefers(Role role) const noexcept;
  [[nodiscard]] bool peer_allows(Role role) const noexcept;
  [[nodiscard]] bool both_allow(Role role) const noexcept { return allows(role) && peer_allows(role); }
  // Convert between a role and the number of its provider in messages.
  [[nodiscard]] std::optional<Role> role_numbered(std::uint8_t number) const noexcept;
  [[nodiscard]] std::uint8_t number_of(Role role) const noexcept;
  void refuse(Role role, const Reason& why, bool told_by_peer);
  void refuse_forbidden(Role role);
  std::optional<Role> decide_for_device();
  void tell_why_no_device(Shard& shard, const Reason& why_not, std::uint8_t peers_reason);

  const ProviderSet& providers_;
  const Choice choice_;
  // State of the initiator.
  std::vector<Role> ways_;  // not tried yet, best first
  std::unique_ptr<PendingUpgrade> upgrade_;
  Explanation explanation_;
  std::optional<Reason> same_host_refusal_;     // is sent to the peer
  ReasonCode device_code_ = ReasonCode::kNone;  // is sent to the peer
  bool device_tried_ = false;
  // State of the responder.
  bool peer_spoke_ = false;  // the peer has sent its choice
  std::uint8_t peer_allowed_ = 0;
  ReasonCode peer_same_host_reason_ = ReasonCode::kNone;
  std::vector<std::byte> invitation_;
  std::vector<Role> candidates_;  // not considered yet, best first
};

}  // namespace exs
