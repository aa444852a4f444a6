// How one connection finds its provider: what this end wishes, what the peer says, and what is told about it.
// The peers talk in the private data of the set-up (FORMAT.md, Paths); the initiator's order goes first, the
// responder decides.
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
  // What goes with the connect: `hello`, and what else the peer should know. EOPNOTSUPP: the choice leaves
  // nothing.
  Result<std::vector<std::byte>> ask(Shard& shard, std::span<const std::byte> hello);
  // The peer's answer. EPROTO. EOPNOTSUPP: it took a provider that is not allowed here.
  Result<ProviderId> learn(std::span<const std::byte> private_data);
  // The peer said no; its reasons, where it gives any.
  void learn_refusal(std::span<const std::byte> private_data);

  // --- responder ---
  // The provider to be taken, or to be tried (shm: a meeting first). Nothing: none that both ends allow.
  std::optional<ProviderId> decide(Shard& shard, std::span<const std::byte> private_data);
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
  [[nodiscard]] std::optional<ProviderId> next_candidate(Shard& shard);
  [[nodiscard]] std::optional<Reason> why_not(Shard& shard, ProviderId id) const;
  void refuse(ProviderId id, const Reason& why, bool told_by_peer);

  const Choice choice_;
  std::unique_ptr<Meeting> meeting_;  // the initiator's
  Explanation explanation_;
  std::optional<Reason> shm_refusal_;  // goes to the peer
  // The responder's view of its peer.
  bool peer_spoke_ = false;
  std::uint8_t peer_allowed_ = 0;
  ReasonCode peer_shm_reason_ = ReasonCode::kNone;
  std::vector<std::byte> peer_words_;
  std::vector<ProviderId> candidates_;  // best first
};

}  // namespace exs
