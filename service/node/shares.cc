// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/shares.h"

#include <algorithm>

namespace exs::svc {
namespace {

constexpr std::size_t kNetworkBytes = 8;  // of an IPv6 address
constexpr std::size_t kForgottenFrom = 64;

bool is_of_ipv4(const HostBytes& host) {
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), host.begin());
}

bool is_of_link(const HostBytes& host) {
  return host[0] == 0xfe && (host[1] & 0xc0) == 0x80;
}

}  // namespace

Principal principal_of(const std::optional<CapabilityProof>& capability, const HostBytes& host) {
  Principal principal;
  if (capability) {
    principal.serial = capability->serial;
    return principal;
  }
  principal.host = host;
  if (!is_of_ipv4(host) && !is_of_link(host))
    std::fill(principal.host.begin() + kNetworkBytes, principal.host.end(), std::uint8_t{0});
  return principal;
}

std::shared_ptr<Share> Shares::of(const Principal& principal) {
  std::weak_ptr<Share>& known = shares_[principal];
  std::shared_ptr<Share> share = known.lock();
  if (share != nullptr) return share;
  share = std::make_shared<Share>(mailbox_);
  known = share;
  if (shares_.size() >= unused_sought_at_) forget_unused();
  return share;
}

void Shares::forget_unused() {
  std::erase_if(shares_, [](const auto& entry) { return entry.second.expired(); });
  unused_sought_at_ = std::max(kForgottenFrom, 2 * shares_.size());
}

}  // namespace exs::svc
