// Listens for peers of RDMA devices on the addresses of one socket.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <vector>

#include "base/fifo.h"
#include "src/provider/connector.h"
#include "src/provider/verbs/cm_channel.h"
#include "src/provider/verbs/incoming_request.h"

namespace exs::verbs {

// Design notes
//  1. One id for each address that a device carries, never the wildcard: with it the connection manager would
//     listen on iWARP devices too, whose listeners are TCP listeners of the kernel.
//  2. A socket bound to one address of an iWARP device leaves the TCP port to the device. Bound to all
//     addresses, it keeps it, and peers of that device reach the software provider.
// Thread: the owner's, then that of the port that listens.
class VerbsProcessListener final : public ProcessListener, private CmClient {
 public:
  // Null: no device carries an address of it.
  static Result<std::unique_ptr<ProcessListener>> start(int descriptor, int backlog);
  ~VerbsProcessListener() override;
  // EADDRINUSE: another process, or socket, listens there.
  static Status check(const sockaddr& address);

  [[nodiscard]] bool holds_tcp_port() const noexcept override { return holds_tcp_port_; }

  // --- the listener ---
  [[nodiscard]] CmChannel& channel() noexcept { return *channel_; }
  std::unique_ptr<ConnectionRequest> next_request();
  // How many have come so far.
  [[nodiscard]] std::uint64_t requests_seen() const noexcept { return seen_; }

 private:
  VerbsProcessListener(std::shared_ptr<CmChannel> channel, int backlog)
      : channel_(std::move(channel)), backlog_(backlog) {}
  void cm_event(const rdma_cm_event& event) override;
  void take_request(const rdma_cm_event& event);
  // ENODEV: no device carries the address.
  Status listen_on(const sockaddr_storage& address, bool only_address);
  Status listen_on_all(const sockaddr_storage& address);

  const std::shared_ptr<CmChannel> channel_;
  const int backlog_;
  bool holds_tcp_port_ = false;
  std::vector<CmId> ids_;
  Fifo<std::unique_ptr<IncomingRequest>> requests_;
  std::uint64_t seen_ = 0;
};

}  // namespace exs::verbs
