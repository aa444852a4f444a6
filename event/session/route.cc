// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/route.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/socket_address.h"
#include "event/engine/shard.h"
#include "src/log/log.h"
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

// In the order in which the explanation names them.
constexpr std::array kAllWays = {Role::kDevice, Role::kSameHost, Role::kNetwork};

}  // namespace

bool Route::prefers(Role role) const noexcept {
  const Provider* const player = providers_.player(role);
  return player != nullptr && choice_.preferred == player->id();
}

bool Route::peer_allows(Role role) const noexcept {
  const Provider* const player = providers_.player(role);
  return player != nullptr && (peer_allowed_ & Choice::bit(player->id())) != 0;
}

std::optional<Role> Route::role_numbered(std::uint8_t number) const noexcept {
  if (number >= kProviderIds) return std::nullopt;
  return providers_.role_of(static_cast<ProviderId>(number));
}

std::uint8_t Route::number_of(Role role) const noexcept {
  const Provider* const player = providers_.player(role);
  return static_cast<std::uint8_t>(player != nullptr ? static_cast<std::size_t>(player->id()) : kProviderIds);
}

void Route::refuse(Role role, const Reason& why, bool told_by_peer) {
  const Provider* const player = providers_.player(role);
  if (player != nullptr) explanation_.refused(player->name(), why, told_by_peer);
  if (role == Role::kSameHost && player != nullptr && !told_by_peer) same_host_refusal_ = why;
  if (role == Role::kDevice && !told_by_peer) device_code_ = why.code;
}

void Route::refuse_forbidden(Role role) {
  const bool by_peer = allows(role);
  refuse(role, by_peer ? Reason::make(ReasonCode::kForbidden, "by the peer") : forbidden_here(), by_peer);
}

// ---------------------------------------------------------------- initiator

void Route::plan(Shard& shard, const sockaddr& peer) {
  const bool by_network = allows(Role::kNetwork) || allows(Role::kSameHost);
  if (allows(Role::kDevice)) ways_.push_back(Role::kDevice);
  if (!by_network) return;
  const bool first = ways_.empty() || network_comes_first(shard, peer);
  ways_.insert(first ? ways_.begin() : ways_.end(), Role::kNetwork);
}

// The network comes first if it may lead to shared memory, which is faster than any device.
bool Route::network_comes_first(Shard& shard, const sockaddr& peer) const {
  shard.assert_held();
  if (prefers(Role::kNetwork)) return true;
  if (prefers(Role::kDevice) || shard.port(Role::kDevice) == nullptr) return false;
  return allows(Role::kSameHost) && shard.port(Role::kSameHost) != nullptr && is_own_address(peer);
}

std::optional<Role> Route::next_way(Shard& shard, const sockaddr& peer) {
  shard.assert_held();
  while (!ways_.empty()) {
    const Role way = ways_.front();
    ways_.erase(ways_.begin());
    if (way == Role::kNetwork) return way;
    Port* const port = shard.port(way);
    Reason why = shard.why_no_port(way);
    device_tried_ = port != nullptr && port->connector()->may_reach(&peer, why);
    if (device_tried_) return way;
    refuse(way, why, false);
  }
  return std::nullopt;
}

void Route::device_failed(const Reason& why, bool told_by_peer) {
  refuse(Role::kDevice, why, told_by_peer);
}

Result<std::vector<std::byte>> Route::ask(Shard& shard, std::span<const std::byte> hello) {
  shard.assert_held();
  Reason why = forbidden_here();
  std::vector<std::byte> invitation;
  if (allows(Role::kSameHost)) {
    Port* const port = shard.port(Role::kSameHost);
    why = shard.why_no_port(Role::kSameHost);
    if (port != nullptr) {
      if (auto offer = port->upgrade()->offer(why)) {
        upgrade_ = std::move(offer->pending);
        invitation = std::move(offer->invitation);
      }
    }
  }
  wire::PathsRequest request;
  request.device_reason = static_cast<std::uint8_t>(device_code_);
  request.allowed = choice_.allowed;
  if (choice_.preferred) request.preferred = static_cast<std::uint8_t>(*choice_.preferred);
  if (upgrade_) {
    request.words = invitation;
  } else {
    request.shm_reason = static_cast<std::uint8_t>(why.code);
    refuse(Role::kSameHost, why, false);
    if (!allows(Role::kNetwork)) return failure(EOPNOTSUPP);
  }
  return joined(hello, wire::encode(request));
}

Result<Role> Route::learn(Role way, std::span<const std::byte> private_data) {
  const auto reply = wire::decode_paths_reply(private_data);
  const bool silent = !reply && reply.error() == Status(ENOMSG);
  if (!reply && !silent) return failure(reply.error());
  const auto chosen = silent ? std::optional(way) : role_numbered(reply->chosen);
  const bool offered =
      way == Role::kNetwork ? chosen == Role::kNetwork || (chosen == Role::kSameHost && upgrade_) : silent;
  if (!offered) {
    return failure(
        fault(LogLevel::kWarn, EPROTO, "the peer took provider {}, which was not offered", reply->chosen));
  }
  if (!silent) learn_refusal(private_data);
  if (silent && way == Role::kNetwork && upgrade_)
    refuse(Role::kSameHost, Reason::make(ReasonCode::kPeerLacks, ""), true);
  if (allows(*chosen)) return *chosen;
  return failure(fault(LogLevel::kWarn, EOPNOTSUPP, "the peer can only do {}, which is not allowed here",
                       providers_.player(*chosen)->name()));
}

void Route::learn_refusal(std::span<const std::byte> private_data) {
  const auto reply = wire::decode_paths_reply(private_data);
  if (!reply) return;
  if (device_tried_ && reply->device_reason != 0) {
    refuse(Role::kDevice, Reason::make(static_cast<ReasonCode>(reply->device_reason), "found at the peer"),
           true);
  }
  if (reply->reason == 0) return;
  const auto refused = role_numbered(reply->refused);
  if (!refused || (*refused == Role::kSameHost && !upgrade_)) return;  // this end knows the reason better
  const std::string_view fact = reply->fact;
  refuse(*refused,
         Reason::make(static_cast<ReasonCode>(reply->reason), "%.*s", static_cast<int>(fact.size()),
                      fact.data()),
         true);
}

// ---------------------------------------------------------------- responder

std::optional<Role> Route::decide(Shard& shard, Role came_by, std::span<const std::byte> private_data,
                                  const Reason& why_no_device) {
  std::optional<Role> peer_prefers;
  std::uint8_t peers_device_reason = 0;
  peer_allowed_ = Choice::bit(providers_.player(came_by)->id());
  if (const auto said = wire::decode_paths_request(private_data)) {
    peer_spoke_ = true;
    peer_allowed_ = said->allowed;
    peer_prefers = role_numbered(said->preferred);
    if (!peer_prefers && said->preferred < kProviderIds) {
      explanation_.refused(name_of(static_cast<ProviderId>(said->preferred)),
                           Reason::make(ReasonCode::kNotBuilt, "the peer prefers it"));
    }
    peer_same_host_reason_ = static_cast<ReasonCode>(said->shm_reason);
    peers_device_reason = said->device_reason;
    invitation_.assign(said->words.begin(), said->words.end());
  }
  if (came_by == Role::kDevice) return decide_for_device();
  tell_why_no_device(shard, why_no_device, peers_device_reason);
  std::vector<Role> order;
  if (peer_prefers) order.push_back(*peer_prefers);
  for (const Role role : kRoles) {
    if (prefers(role)) order.push_back(role);
  }
  order.push_back(Role::kSameHost);
  order.push_back(Role::kNetwork);
  for (const Role role : order) {
    const bool known = role == Role::kSameHost || role == Role::kNetwork;
    if (known && std::find(candidates_.begin(), candidates_.end(), role) == candidates_.end())
      candidates_.push_back(role);
  }
  return next_candidate(shard);
}

// A peer that connects through a device sends no paths. A peer that sends them has connected through TCP, and
// the kernel's listener of an iWARP device has accepted it: the peer uses iwarp, and this end has no TCP
// connection that could be upgraded to shm.
std::optional<Role> Route::decide_for_device() {
  if (peer_spoke_ && both_allow(Role::kSameHost)) {
    refuse(
        Role::kSameHost,
        Reason::make(ReasonCode::kFailed, "an iWARP device has the TCP port; listen on the wildcard address"),
        false);
  }
  if (!allows(Role::kDevice)) {
    refuse(Role::kDevice, forbidden_here(), false);
    return std::nullopt;
  }
  if (!peer_spoke_ || peer_allows(Role::kNetwork)) return Role::kDevice;
  refuse(Role::kNetwork, Reason::make(ReasonCode::kForbidden, "by the peer"), true);
  return std::nullopt;
}

// Adds the reason why a connection through the network does not use a device.
void Route::tell_why_no_device(Shard& shard, const Reason& why_not, std::uint8_t peers_reason) {
  shard.assert_held();
  const auto theirs = static_cast<ReasonCode>(peers_reason);
  if (!allows(Role::kDevice)) {
    refuse(Role::kDevice, forbidden_here(), false);
  } else if (shard.port(Role::kDevice) == nullptr) {
    refuse(Role::kDevice, shard.why_no_port(Role::kDevice), false);
  } else if (why_not.code != ReasonCode::kNone) {
    refuse(Role::kDevice, why_not, false);
  } else if (!peer_spoke_) {
    refuse(Role::kDevice, Reason::make(ReasonCode::kPeerLacks, "the peer said nothing of it"), true);
  } else if (!peer_allows(Role::kDevice)) {
    refuse(Role::kDevice, Reason::make(ReasonCode::kForbidden, "by the peer"), true);
  } else if (theirs != ReasonCode::kNone && theirs != ReasonCode::kNotNeeded) {
    refuse(Role::kDevice, Reason::make(theirs, "found at the peer"), true);
  }
}

std::optional<Reason> Route::why_not(Shard& shard, Role role) const {
  shard.assert_held();
  if (!allows(role)) return forbidden_here();
  if (role == Role::kNetwork) return std::nullopt;
  if (shard.port(role) == nullptr) return shard.why_no_port(role);
  return std::nullopt;
}

std::optional<Role> Route::next_candidate(Shard& shard) {
  while (!candidates_.empty()) {
    const Role role = candidates_.front();
    candidates_.erase(candidates_.begin());
    if (const auto why = why_not(shard, role)) {
      refuse(role, *why, false);
    } else if (role == Role::kSameHost && !peer_spoke_) {
      refuse(role, Reason::make(ReasonCode::kPeerLacks, "the peer said nothing of it"), true);
    } else if (!peer_allows(role)) {
      refuse(role, Reason::make(ReasonCode::kForbidden, "by the peer"), true);
    } else if (role == Role::kSameHost && invitation_.empty()) {
      refuse(role, Reason::make(peer_same_host_reason_, "found at the peer"), true);
    } else {
      return role;
    }
  }
  return std::nullopt;
}

std::optional<Role> Route::fall_back(const Reason& why) {
  refuse(Role::kSameHost, why, false);
  if (both_allow(Role::kNetwork)) return Role::kNetwork;
  refuse_forbidden(Role::kNetwork);
  return std::nullopt;
}

std::vector<std::byte> Route::answer(std::span<const std::byte> hello, std::optional<Role> taken) const {
  wire::PathsReply reply;
  // A peer that sends paths uses the network's protocol, even if a device has accepted it.
  if (taken) reply.chosen = number_of(taken == Role::kDevice ? Role::kNetwork : *taken);
  reply.device_reason = static_cast<std::uint8_t>(device_code_);
  if (same_host_refusal_) {
    reply.refused = number_of(Role::kSameHost);
    reply.reason = static_cast<std::uint8_t>(same_host_refusal_->code);
    reply.fact = same_host_refusal_->fact;
  } else if (!taken && !allows(Role::kNetwork)) {
    reply.refused = number_of(Role::kNetwork);
    reply.reason = static_cast<std::uint8_t>(ReasonCode::kForbidden);
  }
  // A peer that does not know paths would reject a hello that is followed by them.
  if (!peer_spoke_) return {hello.begin(), hello.end()};
  return joined(hello, wire::encode(reply));
}

// ---------------------------------------------------------------- both

void Route::settled(Shard& shard, Role taken, const Reason& link_limit) {
  shard.assert_held();
  Explanation whole;
  const std::string_view name = providers_.player(taken)->name();
  whole.used(name);
  if (link_limit.code != ReasonCode::kNone) whole.limited(name, link_limit);
  Reason limit;
  for (std::size_t i = 0; shard.port(taken)->limitation(i, limit); ++i) whole.limited(name, limit);
  for (const Finding& finding : explanation_.findings()) whole.add(finding);
  for (const Role role : kAllWays) {
    const Provider* const player = providers_.player(role);
    if (player == nullptr || tells_of(whole, *player)) continue;
    whole.refused(player->name(), allows(role)
                                      ? Reason::make(ReasonCode::kNotNeeded, "%s came first", name.data())
                                      : forbidden_here());
  }
  explanation_ = std::move(whole);
}

void Route::failed() {
  for (const Role role : kAllWays) {
    const Provider* const player = providers_.player(role);
    if (!allows(role) && !tells_of(explanation_, *player))
      explanation_.refused(player->name(), forbidden_here());
  }
}

bool Route::tells_of(const Explanation& explanation, const Provider& provider) {
  const auto findings = explanation.findings();
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.provider == provider.name(); });
}

}  // namespace exs
