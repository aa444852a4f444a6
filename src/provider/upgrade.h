// How a connection that one provider sets up is carried by another that has no set-up of its own. The
// initiator sends an invitation along with its connect, the responder follows it before it accepts, and the
// link that was set up, or is asked for, gives way.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "src/provider/connector.h"
#include "src/provider/provider.h"

namespace exs {

// One end's part in the test whether both ends can use the other provider. Destroy it to give up.
class PendingUpgrade {
 public:
  virtual ~PendingUpgrade() = default;
  // After a failed kUpgradeReady: the reason. After a successful one: what limits the connection, if
  // anything.
  [[nodiscard]] virtual const Reason& why_not() const noexcept = 0;
};

struct UpgradeOffer {
  std::unique_ptr<PendingUpgrade> pending;
  std::vector<std::byte> invitation;  // the bytes for the peer
};

// The role of the provider that takes over. Thread: shard.
class ConnectionUpgrade {
 public:
  // The initiator's side. On failure, `why_not` has the reason.
  virtual Result<UpgradeOffer> offer(Reason& why_not) = 0;
  // The responder's side: `invitation` is the peer's. kUpgradeReady follows with `upgrade_token` as its link,
  // within a second.
  virtual Result<std::unique_ptr<PendingUpgrade>> begin(std::span<const std::byte> invitation,
                                                        std::uint64_t upgrade_token) = 0;
  // The link of an upgrade: the responder's after its kUpgradeReady, the initiator's when its peer says that
  // it is done. Established at once. `descriptor`: the connection's, borrowed until the link is destroyed;
  // its end is the link's end. `parameters.private_data` is the peer's. ECONNRESET: the ends have not found
  // each other, or the peer is gone.
  virtual Result<std::unique_ptr<Link>> adopt(std::unique_ptr<PendingUpgrade> upgrade, int descriptor,
                                              const ConnectParameters& parameters,
                                              std::uint64_t link_token) = 0;

 protected:
  ~ConnectionUpgrade() = default;
};

// A link of the provider that gives way. Thread: shard.
class UpgradableLink {
 public:
  // Leaves the established connection to another provider's link: nothing has been posted but receives, which
  // are forgotten; the descriptor stays open and as it is.
  virtual Status release() = 0;

 protected:
  ~UpgradableLink() = default;
};

// A request of the provider that gives way.
class UpgradableRequest {
 public:
  // The answer in place of reject(): accepts the peer; another provider's link carries the connection.
  virtual Status grant(std::span<const std::byte> private_data) = 0;

 protected:
  ~UpgradableRequest() = default;
};

}  // namespace exs
