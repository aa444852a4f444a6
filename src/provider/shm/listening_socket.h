// The abstract Unix socket at which the ports of other processes connect to a port of ours.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "base/unique_fd.h"
#include "src/provider/poller.h"
#include "src/provider/reason.h"
#include "src/provider/shm/identity.h"
#include "src/provider/shm/peer_socket.h"

namespace exs::shm {

// The address of a port's abstract socket, which has no name in any file system and goes with its owner.
struct AbstractAddress {
  explicit AbstractAddress(const RandomId& socket_id);
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t bytes = 0;
};

// Thread: shard.
class ListeningSocket final : public Pollable {
 public:
  // `accept_peers` is called when peers wait. `poller` outlives it.
  ListeningSocket(Poller& poller, std::function<void()> accept_peers)
      : poller_(poller), accept_peers_(std::move(accept_peers)) {}
  ~ListeningSocket() override;
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  // Call it once. False: `why_not` has the reason.
  bool open(Reason& why_not);
  [[nodiscard]] bool is_open() const noexcept { return socket_.valid(); }
  [[nodiscard]] const RandomId& id() const noexcept { return id_; }

  // Returns the peer that has waited longest. Invalid: no peer waits, or the peer was told that there is no
  // descriptor for it.
  PeerSocket accept();
  // Peers wait in the kernel until resume().
  void pause() { watch(false); }
  [[nodiscard]] bool is_paused() const noexcept { return socket_.valid() && !watched_; }
  // Listens again if there is room for peers, and a descriptor to spare.
  void resume(std::uint64_t now_ns, bool has_room);
  // The time from which resume() is worth another call. 0: there is nothing to wait for.
  [[nodiscard]] std::uint64_t retry_ns() const noexcept { return retry_ns_; }

  void ready(std::uint32_t) override { accept_peers_(); }

 private:
  PeerSocket accept_next();
  void refuse_for_lack_of_descriptors();
  void watch(bool watched);

  Poller& poller_;
  const std::function<void()> accept_peers_;
  RandomId id_{};
  UniqueFd socket_;
  UniqueFd spare_;  // given up to notify a peer that there is no descriptor for it
  bool watched_ = false;
  std::uint64_t retry_ns_ = 0;
};

}  // namespace exs::shm
