// Hears from the kernel that an address of this host has gone: a device that loses its address does not tell
// its connections.
#pragma once

#include <sys/socket.h>

#include <functional>

#include "src/base/poller.h"
#include "src/base/unique_fd.h"

namespace exs::verbs {

// Thread: shard.
class AddressWatch final : public Pollable {
 public:
  using Gone = std::function<void(const sockaddr&)>;
  explicit AddressWatch(Gone gone) : gone_(std::move(gone)) {}
  // Once; without it connections end only when their peers do not answer.
  void start(Poller& poller);
  void ready(std::uint32_t events) override;

 private:
  Gone gone_;
  UniqueFd netlink_;
};

}  // namespace exs::verbs
