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

#include "src/provider/choice.h"
#include "src/provider/explanation.h"
#include "src/provider/provider.h"

namespace exs {

class Shard;

// Thread: shard.
class Route {
 public:
  explicit Route(const Choice& choice) : choice_(choice) {}

  // --- initiator ---
  // Finds the ways to try: kDevice and kNetwork, which leads to shm, too.
  void plan(Shard& shard, const sockaddr& peer);
  // The next one that is worth a try. Nothing: no more.
  std::optional<ProviderId> next_way(Shard& shard, const sockaddr& peer);
  [[nodiscard]] bool has_other_way() const noexcept { return !ways_.empty(); }
  void device_failed(const Reason& why, bool told_by_peer);
  // What goes with the connect by the network: `hello`, and what else the peer should know. EOPNOTSUPP: the
  // choice leaves nothing.
  Result<std::vector<std::byte>> ask(Shard& shard, std::span<const std::byte> hello);
  // The peer's answer, which came on `way`. EPROTO. EOPNOTSUPP: it took a provider that is not allowed here.
  Result<ProviderId> learn(ProviderId way, std::span<const std::byte> private_data);
  // The peer said no; its reasons, where it gives any.
  void learn_refusal(std::span<const std::byte> private_data);

  // --- responder ---
  // The provider to be taken, or to be tried (shm: a meeting first). Nothing: none that both ends allow.
  // `why_no_device`: what kept peers from coming by an RDMA device, if anything did.
  std::optional<ProviderId> decide(Shard& shard, const ConnectionRequest& request,
                                   const Reason& why_no_device);
  // The one to be tried will not do: the next one.
  std::optional<ProviderId> fall_back(const Reason& why);
  // What goes with the answer; nothing taken: with the refusal.
  [[nodiscard]] std::vector<std::byte> answer(std::span<const std::byte> hello,
                                              std::optional<ProviderId> taken) const;
  [[nodiscard]] std::span<const std::byte> peer_words() const noexcept { return peer_words_; }

  // --- both ---
  // `taken` carries the connection; `link_limit`: what limits it, if anything.
  void settled(Shard& shard, ProviderId taken, const Reason& link_limit);
  // No provider is left; what our own choice leaves out belongs to the reasons.
  void failed();
  [[nodiscard]] std::unique_ptr<Meeting> take_meeting() { return std::move(meeting_); }
  [[nodiscard]] const Explanation& explanation() const noexcept { return explanation_; }

 private:
  static bool tells_of(const Explanation& explanation, ProviderId id);
  [[nodiscard]] bool network_comes_first(Shard& shard, const sockaddr& peer) const;
  [[nodiscard]] std::optional<ProviderId> next_candidate(Shard& shard);
  [[nodiscard]] std::optional<Reason> why_not(Shard& shard, ProviderId id) const;
  [[nodiscard]] bool both_allow(ProviderId id) const noexcept {
    return choice_.allows(id) && (peer_allowed_ & Choice::bit(id)) != 0;
  }
  void refuse(ProviderId id, const Reason& why, bool told_by_peer);
  void refuse_forbidden(ProviderId id);
  std::optional<ProviderId> decide_for_device();
  void tell_why_no_device(Shard& shard, const Reason& why_not, std::uint8_t peers_reason);

  const Choice choice_;
  std::vector<ProviderId> ways_;      // the initiator's, best first
  std::unique_ptr<Meeting> meeting_;  // the initiator's
  Explanation explanation_;
  std::optional<Reason> shm_refusal_;           // goes to the peer
  ReasonCode device_code_ = ReasonCode::kNone;  // goes to the peer
  bool device_tried_ = false;
  // The responder's view of its peer.
  bool peer_spoke_ = false;
  std::uint8_t peer_allowed_ = 0;
  ReasonCode peer_shm_reason_ = ReasonCode::kNone;
  std::vector<std::byte> peer_words_;
  std::vector<ProviderId> candidates_;  // best first
};

}  // namespace exs
