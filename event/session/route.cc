#include "event/session/route.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "event/engine/shard.h"
#include "event/session/address.h"
#include "src/base/log.h"
#include "src/wire/paths.h"

namespace exs {
namespace {

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

// In the order in which they are told.
constexpr std::array kAllWays = {kDevice, kSameHost, kNetwork};

std::optional<ProviderId> provider_numbered(std::uint8_t number) {
  if (number >= kProviderIds) return std::nullopt;
  return static_cast<ProviderId>(number);
}

}  // namespace

void Route::refuse(ProviderId id, const Reason& why, bool told_by_peer) {
  explanation_.refused(name_of(id), why, told_by_peer);
  if (id == kSameHost && !told_by_peer) shm_refusal_ = why;
  if (id == kDevice && !told_by_peer) device_code_ = why.code;
}

void Route::refuse_forbidden(ProviderId id) {
  const bool by_peer = choice_.allows(id);
  refuse(id, by_peer ? Reason::make(ReasonCode::kForbidden, "by the peer") : forbidden_here(), by_peer);
}

// ---------------------------------------------------------------- initiator

void Route::plan(Shard& shard, const sockaddr& peer) {
  const bool by_network = choice_.allows(kNetwork) || choice_.allows(kSameHost);
  if (choice_.allows(kDevice)) ways_.push_back(kDevice);
  if (!by_network) return;
  const bool first = ways_.empty() || network_comes_first(shard, peer);
  ways_.insert(first ? ways_.begin() : ways_.end(), kNetwork);
}

// Two processes of one host are closer to each other than to any device.
bool Route::network_comes_first(Shard& shard, const sockaddr& peer) const {
  if (choice_.preferred == kNetwork) return true;
  if (choice_.preferred == kDevice || shard.port(kDevice) == nullptr) return false;
  return choice_.allows(kSameHost) && shard.port(kSameHost) != nullptr && is_own_address(peer);
}

std::optional<ProviderId> Route::next_way(Shard& shard, const sockaddr& peer) {
  while (!ways_.empty()) {
    const ProviderId way = ways_.front();
    ways_.erase(ways_.begin());
    if (way == kNetwork) return way;
    Port* const port = shard.port(way);
    Reason why = shard.why_no_port(way);
    device_tried_ = port != nullptr && port->may_reach(&peer, why);
    if (device_tried_) return way;
    refuse(way, why, false);
  }
  return std::nullopt;
}

void Route::device_failed(const Reason& why, bool told_by_peer) {
  refuse(kDevice, why, told_by_peer);
}

Result<std::vector<std::byte>> Route::ask(Shard& shard, std::span<const std::byte> hello) {
  Reason why = forbidden_here();
  if (choice_.allows(kSameHost)) {
    Port* const port = shard.port(kSameHost);
    why = shard.why_no_port(kSameHost);
    if (port != nullptr) {
      if (auto meeting = port->invite(why)) meeting_ = std::move(*meeting);
    }
  }
  wire::PathsRequest request;
  request.device_reason = static_cast<std::uint8_t>(device_code_);
  request.allowed = choice_.allowed;
  if (choice_.preferred) request.preferred = static_cast<std::uint8_t>(*choice_.preferred);
  if (meeting_) {
    request.words = meeting_->words();
  } else {
    request.shm_reason = static_cast<std::uint8_t>(why.code);
    refuse(kSameHost, why, false);
    if (!choice_.allows(kNetwork)) return failure(EOPNOTSUPP);
  }
  return joined(hello, wire::encode(request));
}

Result<ProviderId> Route::learn(ProviderId way, std::span<const std::byte> private_data) {
  const auto reply = wire::decode_paths_reply(private_data);
  const bool silent = !reply && reply.error() == Status(ENOMSG);
  if (!reply && !silent) return failure(reply.error());
  const auto chosen = silent ? std::optional(way) : provider_numbered(reply->chosen);
  const bool offered = way == kNetwork ? chosen == kNetwork || (chosen == kSameHost && meeting_) : silent;
  if (!offered) {
    log(LogLevel::kWarn, "the peer took provider %u, which was not offered: EPROTO", reply->chosen);
    return failure(EPROTO);
  }
  if (!silent) learn_refusal(private_data);
  if (silent && way == kNetwork && meeting_)
    refuse(kSameHost, Reason::make(ReasonCode::kPeerLacks, ""), true);
  if (choice_.allows(*chosen)) return *chosen;
  log(LogLevel::kWarn, "the peer can only do %s, which is not allowed here: EOPNOTSUPP",
      name_of(*chosen).data());
  return failure(EOPNOTSUPP);
}

void Route::learn_refusal(std::span<const std::byte> private_data) {
  const auto reply = wire::decode_paths_reply(private_data);
  if (!reply) return;
  if (device_tried_ && reply->device_reason != 0) {
    refuse(kDevice, Reason::make(static_cast<ReasonCode>(reply->device_reason), "found at the peer"), true);
  }
  if (reply->reason == 0) return;
  const auto refused = provider_numbered(reply->refused);
  if (!refused || (*refused == kSameHost && !meeting_)) return;  // we know better why
  const std::string_view fact = reply->fact;
  refuse(*refused,
         Reason::make(static_cast<ReasonCode>(reply->reason), "%.*s", static_cast<int>(fact.size()),
                      fact.data()),
         true);
}

// ---------------------------------------------------------------- responder

std::optional<ProviderId> Route::decide(Shard& shard, const ConnectionRequest& request,
                                        const Reason& why_no_device) {
  const bool by_device = request.provider() == kDevice;
  std::optional<ProviderId> peer_prefers;
  std::uint8_t peers_device_reason = 0;
  peer_allowed_ = Choice::bit(request.provider());
  if (const auto said = wire::decode_paths_request(request.private_data())) {
    peer_spoke_ = true;
    peer_allowed_ = said->allowed;
    peer_prefers = provider_numbered(said->preferred);
    peer_shm_reason_ = static_cast<ReasonCode>(said->shm_reason);
    peers_device_reason = said->device_reason;
    peer_words_.assign(said->words.begin(), said->words.end());
  }
  if (peer_prefers == ProviderId::kSim)
    refuse(*peer_prefers, Reason::make(ReasonCode::kNotBuilt, "the peer prefers it"), false);
  if (by_device) return decide_for_device();
  tell_why_no_device(shard, why_no_device, peers_device_reason);
  std::vector<ProviderId> order;
  if (peer_prefers) order.push_back(*peer_prefers);
  if (choice_.preferred) order.push_back(*choice_.preferred);
  order.push_back(kSameHost);
  order.push_back(kNetwork);
  for (const ProviderId id : order) {
    const bool known = id == kSameHost || id == kNetwork;
    if (known && std::find(candidates_.begin(), candidates_.end(), id) == candidates_.end())
      candidates_.push_back(id);
  }
  return next_candidate(shard);
}

// A device's own peers say nothing of paths. Who does is a peer of the network whom the kernel's listener of
// an iWARP device took: to it this is iwarp, and there is no TCP connection that could be left for shm.
std::optional<ProviderId> Route::decide_for_device() {
  if (peer_spoke_ && both_allow(kSameHost)) {
    refuse(
        kSameHost,
        Reason::make(ReasonCode::kFailed, "an iWARP device has the TCP port; listen on the wildcard address"),
        false);
  }
  if (!choice_.allows(kDevice)) {
    refuse(kDevice, forbidden_here(), false);
    return std::nullopt;
  }
  if (!peer_spoke_ || (peer_allowed_ & Choice::bit(kNetwork)) != 0) return kDevice;
  refuse(kNetwork, Reason::make(ReasonCode::kForbidden, "by the peer"), true);
  return std::nullopt;
}

// The peer comes by the network.
void Route::tell_why_no_device(Shard& shard, const Reason& why_not, std::uint8_t peers_reason) {
  const auto theirs = static_cast<ReasonCode>(peers_reason);
  if (!choice_.allows(kDevice)) {
    refuse(kDevice, forbidden_here(), false);
  } else if (shard.port(kDevice) == nullptr) {
    refuse(kDevice, shard.why_no_port(kDevice), false);
  } else if (why_not.code != ReasonCode::kNone) {
    refuse(kDevice, why_not, false);
  } else if (!peer_spoke_) {
    refuse(kDevice, Reason::make(ReasonCode::kPeerLacks, "the peer said nothing of it"), true);
  } else if ((peer_allowed_ & Choice::bit(kDevice)) == 0) {
    refuse(kDevice, Reason::make(ReasonCode::kForbidden, "by the peer"), true);
  } else if (theirs != ReasonCode::kNone && theirs != ReasonCode::kNotNeeded) {
    refuse(kDevice, Reason::make(theirs, "found at the peer"), true);
  }
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
    } else if (id == kSameHost && !peer_spoke_) {
      refuse(id, Reason::make(ReasonCode::kPeerLacks, "the peer said nothing of it"), true);
    } else if ((peer_allowed_ & Choice::bit(id)) == 0) {
      refuse(id, Reason::make(ReasonCode::kForbidden, "by the peer"), true);
    } else if (id == kSameHost && peer_words_.empty()) {
      refuse(id, Reason::make(peer_shm_reason_, "found at the peer"), true);
    } else {
      return id;
    }
  }
  return std::nullopt;
}

std::optional<ProviderId> Route::fall_back(const Reason& why) {
  refuse(kSameHost, why, false);
  if (both_allow(kNetwork)) return kNetwork;
  refuse_forbidden(kNetwork);
  return std::nullopt;
}

std::vector<std::byte> Route::answer(std::span<const std::byte> hello,
                                     std::optional<ProviderId> taken) const {
  wire::PathsReply reply;
  // Whom a device answers, and who speaks of paths, came by the network's protocol, and stays with it.
  if (taken) reply.chosen = static_cast<std::uint8_t>(taken == kDevice ? kNetwork : *taken);
  reply.device_reason = static_cast<std::uint8_t>(device_code_);
  if (shm_refusal_) {
    reply.refused = static_cast<std::uint8_t>(kSameHost);
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
  for (const ProviderId id : kAllWays) {
    if (tells_of(whole, id)) continue;
    const Reason why = choice_.allows(id)
                           ? Reason::make(ReasonCode::kNotNeeded, "%s came first", name_of(taken).data())
                           : forbidden_here();
    whole.refused(name_of(id), why);
  }
  explanation_ = std::move(whole);
}

void Route::failed() {
  for (const ProviderId id : kAllWays) {
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
