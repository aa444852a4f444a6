// Decides which provider carries a connection, from the choices of both ends, and collects the reasons. An
// RDMA device sets up its own connections, and the initiator alone decides whether to try one. Every other
// provider is agreed on in the private data of a set-up by the network (FORMAT.md, Paths): the responder
// decides, and follows the initiator's order first.
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
  // The next way that is worth a try. Nothing: there is none left.
  std::optional<Role> next_way(Shard& shard, const sockaddr& peer);
  [[nodiscard]] bool has_other_way() const noexcept { return !ways_.empty(); }
  void device_failed(const Reason& why, bool told_by_peer);
  // The private data of a connect by the network: `hello`, and this end's choice. EOPNOTSUPP: the choice
  // leaves no provider.
  Result<std::vector<std::byte>> ask(Shard& shard, std::span<const std::byte> hello);
  // Reads the peer's answer, which came on `way`. EPROTO. EOPNOTSUPP: the peer took a provider that is not
  // allowed here.
  Result<Role> learn(Role way, std::span<const std::byte> private_data);
  // Reads the reasons of a peer that has refused, if it gives any.
  void learn_refusal(std::span<const std::byte> private_data);

  // --- responder ---
  // Who is to be taken, or to be tried (kSameHost: an upgrade first). Nothing: none that both ends allow.
  // `came_by`: the role of the provider that took the request in, `private_data`: the peer's.
  // `why_no_device`: why no peer can come by an RDMA device, if that is known.
  std::optional<Role> decide(Shard& shard, Role came_by, std::span<const std::byte> private_data,
                             const Reason& why_no_device);
  // The next provider, after one that could not be used.
  std::optional<Role> fall_back(const Reason& why);
  // The private data of the answer; nothing taken: of the refusal.
  [[nodiscard]] std::vector<std::byte> answer(std::span<const std::byte> hello,
                                              std::optional<Role> taken) const;
  // The peer's, to an upgrade.
  [[nodiscard]] std::span<const std::byte> invitation() const noexcept { return invitation_; }

  // --- both ---
  // `taken` carries the connection; `link_limit`: what limits it, if anything.
  void settled(Shard& shard, Role taken, const Reason& link_limit);
  // No provider is left: adds what this end's choice excludes to the reasons.
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
