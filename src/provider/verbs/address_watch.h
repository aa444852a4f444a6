// Notices from the kernel when an address of this host has gone. A device that loses its address does not
// notify its connections.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <functional>

#include "base/unique_fd.h"
#include "src/provider/poller.h"

namespace exs::verbs {

// Thread: shard.
class AddressWatch final : public Pollable {
 public:
  using Gone = std::function<void(const sockaddr&)>;
  explicit AddressWatch(Gone gone) : gone_(std::move(gone)) {}
  // Call it once. Without it, connections end only when their peers do not answer.
  void start(Poller& poller);
  void ready(std::uint32_t events) override;

 private:
  Gone gone_;
  UniqueFd netlink_;
};

}  // namespace exs::verbs
