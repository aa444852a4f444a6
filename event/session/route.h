// How one connection finds its provider: what this end wishes, what the peer says, and what is told about it.
// An RDMA device sets up its own connections, and the initiator alone decides whether to try one. All else
// goes by the network, where the peers talk in the private data of the set-up (FORMAT.md, Paths); the
// initiator's order goes first, the responder decides.
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
  // Finds the ways to try: kDevice and kNetwork, which leads to kSameHost, too.
  void plan(Shard& shard, const sockaddr& peer);
  // The next one that is worth a try. Nothing: no more.
  std::optional<Role> next_way(Shard& shard, const sockaddr& peer);
  [[nodiscard]] bool has_other_way() const noexcept { return !ways_.empty(); }
  void device_failed(const Reason& why, bool told_by_peer);
  // What goes with the connect by the network: `hello`, and what else the peer should know. EOPNOTSUPP: the
  // choice leaves nothing.
  Result<std::vector<std::byte>> ask(Shard& shard, std::span<const std::byte> hello);
  // The peer's answer, which came on `way`. EPROTO. EOPNOTSUPP: it took a provider that is not allowed here.
  Result<Role> learn(Role way, std::span<const std::byte> private_data);
  // The peer said no; its reasons, where it gives any.
  void learn_refusal(std::span<const std::byte> private_data);

  // --- responder ---
  // Who is to be taken, or to be tried (kSameHost: an upgrade first). Nothing: none that both ends allow.
  // `came_by`: the role of the provider that took the request in, `private_data`: the peer's.
  // `why_no_device`: what kept peers from coming by an RDMA device, if anything did.
  std::optional<Role> decide(Shard& shard, Role came_by, std::span<const std::byte> private_data,
                             const Reason& why_no_device);
  // The one to be tried will not do: the next one.
  std::optional<Role> fall_back(const Reason& why);
  // What goes with the answer; nothing taken: with the refusal.
  [[nodiscard]] std::vector<std::byte> answer(std::span<const std::byte> hello,
                                              std::optional<Role> taken) const;
  // The peer's, to an upgrade.
  [[nodiscard]] std::span<const std::byte> invitation() const noexcept { return invitation_; }

  // --- both ---
  // `taken` carries the connection; `link_limit`: what limits it, if anything.
  void settled(Shard& shard, Role taken, const Reason& link_limit);
  // No provider is left; what our own choice leaves out belongs to the reasons.
  void failed();
  [[nodiscard]] std::unique_ptr<PendingUpgrade> take_upgrade() { return std::move(upgrade_); }
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
  // As its provider is numbered in messages.
  [[nodiscard]] std::optional<Role> role_numbered(std::uint8_t number) const noexcept;
  [[nodiscard]] std::uint8_t number_of(Role role) const noexcept;
  void refuse(Role role, const Reason& why, bool told_by_peer);
  void refuse_forbidden(Role role);
  std::optional<Role> decide_for_device();
  void tell_why_no_device(Shard& shard, const Reason& why_not, std::uint8_t peers_reason);

  const ProviderSet& providers_;
  const Choice choice_;
  std::vector<Role> ways_;                   // the initiator's, best first
  std::unique_ptr<PendingUpgrade> upgrade_;  // the initiator's
  Explanation explanation_;
  std::optional<Reason> same_host_refusal_;     // goes to the peer
  ReasonCode device_code_ = ReasonCode::kNone;  // goes to the peer
  bool device_tried_ = false;
  // The responder's view of its peer.
  bool peer_spoke_ = false;
  std::uint8_t peer_allowed_ = 0;
  ReasonCode peer_same_host_reason_ = ReasonCode::kNone;
  std::vector<std::byte> invitation_;
  std::vector<Role> candidates_;  // best first
};

}  // namespace exs
