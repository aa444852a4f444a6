// Each principal's share of a service, so none can take all of it.
//
// Design notes
//  1. A principal is a party that can be held to account: a capability of the service, by its serial, or else a host. An ID is not a
//     principal, because anyone can create IDs.
//  2. A message counts until the program releases it, in any thread. So the counters are atomic and outlive the service.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "service/names/address.h"
#include "service/node/message.h"

namespace exs::svc {

struct Principal {
  std::optional<std::uint32_t> serial;  // of a capability
  HostBytes host{};                     // if there is no capability
  auto operator<=>(const Principal&) const = default;
};

// An IPv6 host counts with its whole network, whose addresses it may use.
Principal principal_of(const std::optional<CapabilityProof>& capability, const HostBytes& host);

// Thread: holder of the node's lock.
class Shares {
 public:
  explicit Shares(std::shared_ptr<Mailbox> mailbox) : mailbox_(std::move(mailbox)) {}
  std::shared_ptr<Share> of(const Principal& principal);

 private:
  void forget_unused();

  std::shared_ptr<Mailbox> mailbox_;
  std::map<Principal, std::weak_ptr<Share>> shares_;
  std::size_t unused_sought_at_ = 0;  // entries
};

}  // namespace exs::svc
