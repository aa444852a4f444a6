// What each principal has of a service, so that none has all of it.
//
// Design notes
//  1. A principal is who can be held to account: a capability, which the service has given out, by its serial, or else a host. An ID is
//     none, as anybody may make as many as he likes.
//  2. A message counts until the program releases it, in whatever thread, so what is counted is atomic, and outlives the service.
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
  HostBytes host{};                     // of who has none
  auto operator<=>(const Principal&) const = default;
};

// A host of IPv6 has a whole network of addresses for itself.
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
