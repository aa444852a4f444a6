#include "event/route.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "event/shard.h"
#include "src/base/log.h"
#include "src/wire/paths.h"

namespace exs {
namespace {

constexpr ProviderId kNetwork = ProviderId::kIwarp;  // sets connections up

std::vector<std::byte> joined(std::span<const std::byte> hello, const wire::PathsBytes& paths) {
  const auto own = hello.first(std::min(hello.size(), wire::kPathsOffset));
  std::vector<std::byte> data(own.begin(), own.end());
  data.resize(wire::kPathsOffset);
  const auto block = paths.view();
  data.insert(data.end(), block.begin(), block.end());
  return data;
}

Reason forbidden_here() {
  return Reason::make(ReasonCode::kForbidden, "by EXS_SO_PROVIDER or EXS_PROVIDER");
}

std::optional<ProviderId> provider_numbered(std::uint8_t number) {
  if (number >= kProviderIds) return std::nullopt;
  return static_cast<ProviderId>(number);
}

}  // namespace

void Route::refuse(ProviderId id, const Reason& why, bool told_by_peer) {
  explanation_.refused(name_of(id), why, told_by_peer);
  if (id == ProviderId::kShm && !told_by_peer) shm_refusal_ = why;
}

// ---------------------------------------------------------------- initiator

Result<std::vector<std::byte>> Route::ask(Shard& shard, std::span<const std::byte> hello) {
  Reason why = forbidden_here();
  if (choice_.allows(ProviderId::kShm)) {
    Port* const port = shard.port(ProviderId::kShm);
    why = shard.why_no_port(ProviderId::kShm);
    if (port != nullptr) {
      if (auto meeting = port->invite(why)) meeting_ = std::move(*meeting);
    }
  }
  wire::PathsRequest request;
  request.allowed = choice_.allowed;
  if (choice_.preferred) request.preferred = static_cast<std::uint8_t>(*choice_.preferred);
  if (meeting_) {
    request.words = meeting_->words();
  } else {
    request.shm_reason = static_cast<std::uint8_t>(why.code);
    refuse(ProviderId::kShm, why, false);
    if (!choice_.allows(kNetwork)) return failure(EOPNOTSUPP);
  }
  return joined(hello, wire::encode(request));
}

Result<ProviderId> Route::learn(std::span<const std::byte> private_data) {
  const auto reply = wire::decode_paths_reply(private_data);
  if (!reply && reply.error() != Status(ENOMSG)) return failure(reply.error());
  auto taken = kNetwork;
  if (!reply) {
    if (meeting_) refuse(ProviderId::kShm, Reason::make(ReasonCode::kPeerLacks, ""), true);
  } else {
    const auto chosen = provider_numbered(reply->chosen);
    if (!chosen || (*chosen != kNetwork && !(*chosen == ProviderId::kShm && meeting_))) {
      log(LogLevel::kWarn, "the peer took provider %u, which was not offered: EPROTO", reply->chosen);
      return failure(EPROTO);
    }
    taken = *chosen;
    learn_refusal(private_data);
  }
  if (choice_.allows(taken)) return taken;
  log(LogLevel::kWarn, "the peer can only do %s, which is not allowed here: EOPNOTSUPP",
      name_of(taken).data());
  return failure(EOPNOTSUPP);
}

void Route::learn_refusal(std::span<const std::byte> private_data) {
  const auto reply = wire::decode_paths_reply(private_data);
  if (!reply || reply->reason == 0) return;
  const auto refused = provider_numbered(reply->refused);
  if (!refused || (*refused == ProviderId::kShm && !meeting_)) return;  // we know better why
  const std::string_view fact = reply->fact;
  refuse(*refused,
         Reason::make(static_cast<ReasonCode>(reply->reason), "%.*s", static_cast<int>(fact.size()),
                      fact.data()),
         true);
}

// ---------------------------------------------------------------- responder

std::optional<ProviderId> Route::decide(Shard& shard, std::span<const std::byte> private_data) {
  std::optional<ProviderId> peer_prefers;
  peer_allowed_ = Choice::bit(kNetwork);
  if (const auto request = wire::decode_paths_request(private_data)) {
    peer_spoke_ = true;
    peer_allowed_ = request->allowed;
    peer_prefers = provider_numbered(request->preferred);
    peer_shm_reason_ = static_cast<ReasonCode>(request->shm_reason);
    peer_words_.assign(request->words.begin(), request->words.end());
  }
  if (peer_prefers && *peer_prefers != ProviderId::kShm && *peer_prefers != kNetwork)
    refuse(*peer_prefers, Reason::make(ReasonCode::kNotBuilt, "the peer prefers it"), false);
  std::vector<ProviderId> order;
  if (peer_prefers) order.push_back(*peer_prefers);
  if (choice_.preferred) order.push_back(*choice_.preferred);
  order.push_back(ProviderId::kShm);
  order.push_back(kNetwork);
  for (const ProviderId id : order) {
    const bool known = id == ProviderId::kShm || id == kNetwork;
    if (known && std::find(candidates_.begin(), candidates_.end(), id) == candidates_.end())
      candidates_.push_back(id);
  }
  return next_candidate(shard);
}

std::optional<Reason> Route::why_not(Shard& shard, ProviderId id) const {
  if (!choice_.allows(id)) return forbidden_here();
  if (id == kNetwork) return std::nullopt;
  if (shard.port(id) == nullptr) return shard.why_no_port(id);
  return std::nullopt;
}

std::optional<ProviderId> Route::next_candidate(Shard& shard) {
  while (!candidates_.empty()) {
    const ProviderId id = candidates_.front();
    candidates_.erase(candidates_.begin());
    if (const auto why = why_not(shard, id)) {
      refuse(id, *why, false);
    } else if (id == ProviderId::kShm && !peer_spoke_) {
      refuse(id, Reason::make(ReasonCode::kPeerLacks, "the peer said nothing of it"), true);
    } else if ((peer_allowed_ & Choice::bit(id)) == 0) {
      refuse(id, Reason::make(ReasonCode::kForbidden, "by the peer"), true);
    } else if (id == ProviderId::kShm && peer_words_.empty()) {
      refuse(id, Reason::make(peer_shm_reason_, "found at the peer"), true);
    } else {
      return id;
    }
  }
  return std::nullopt;
}

std::optional<ProviderId> Route::fall_back(const Reason& why) {
  refuse(ProviderId::kShm, why, false);
  const bool possible = choice_.allows(kNetwork) && (peer_allowed_ & Choice::bit(kNetwork)) != 0;
  if (possible) return kNetwork;
  refuse(kNetwork,
         choice_.allows(kNetwork) ? Reason::make(ReasonCode::kForbidden, "by the peer") : forbidden_here(),
         choice_.allows(kNetwork));
  return std::nullopt;
}

std::vector<std::byte> Route::answer(std::span<const std::byte> hello,
                                     std::optional<ProviderId> taken) const {
  wire::PathsReply reply;
  if (taken) reply.chosen = static_cast<std::uint8_t>(*taken);
  if (shm_refusal_) {
    reply.refused = static_cast<std::uint8_t>(ProviderId::kShm);
    reply.reason = static_cast<std::uint8_t>(shm_refusal_->code);
    reply.fact = shm_refusal_->fact;
  } else if (!taken && !choice_.allows(kNetwork)) {
    reply.refused = static_cast<std::uint8_t>(kNetwork);
    reply.reason = static_cast<std::uint8_t>(ReasonCode::kForbidden);
  }
  // A peer that does not speak of paths would take the block for a malformed hello.
  if (!peer_spoke_) return {hello.begin(), hello.end()};
  return joined(hello, wire::encode(reply));
}

// ---------------------------------------------------------------- both

void Route::settled(Shard& shard, ProviderId taken, const Reason& link_limit) {
  Explanation whole;
  whole.used(name_of(taken));
  if (link_limit.code != ReasonCode::kNone) whole.limited(name_of(taken), link_limit);
  Reason limit;
  for (std::size_t i = 0; shard.port(taken)->limitation(i, limit); ++i) whole.limited(name_of(taken), limit);
  for (const Finding& finding : explanation_.findings()) whole.add(finding);
  for (const ProviderId id : {ProviderId::kShm, kNetwork}) {
    if (tells_of(whole, id)) continue;
    const Reason why = choice_.allows(id)
                           ? Reason::make(ReasonCode::kNotNeeded, "%s came first", name_of(taken).data())
                           : forbidden_here();
    whole.refused(name_of(id), why);
  }
  explanation_ = std::move(whole);
}

void Route::failed() {
  for (const ProviderId id : {ProviderId::kShm, kNetwork}) {
    if (!choice_.allows(id) && !tells_of(explanation_, id))
      explanation_.refused(name_of(id), forbidden_here());
  }
}

bool Route::tells_of(const Explanation& explanation, ProviderId id) {
  const auto findings = explanation.findings();
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.provider == name_of(id); });
}

}  // namespace exs
