// The connection manager's events for the ids of one port or one listening socket.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/rdma_cma.h>

#include <memory>
#include <span>

#include "base/status.h"
#include "src/provider/poller.h"

namespace exs::verbs {

// The owner of an ID; id->context points to it.
class CmClient {
 public:
  virtual ~CmClient() = default;
  // `event` is good during the call only, which must not destroy or migrate its id: the connection manager
  // waits for the event's acknowledgement then, which follows the call. Thread: the channel's.
  virtual void cm_event(const rdma_cm_event& event) = 0;
};

struct CmIdCloser {
  void operator()(rdma_cm_id* id) const noexcept { ::rdma_destroy_id(id); }
};
using CmId = std::unique_ptr<rdma_cm_id, CmIdCloser>;

// Shared by the holders of its IDs. Thread: the owner's; any thread may make and destroy IDs.
class CmChannel final : public Pollable {
 public:
  // ENODEV: no RDMA on this machine.
  static Result<std::shared_ptr<CmChannel>> open();
  ~CmChannel() override;
  CmChannel(const CmChannel&) = delete;
  CmChannel& operator=(const CmChannel&) = delete;

  Result<CmId> make_id(CmClient& client);
  // The id's events come here from now on, and go to `client`.
  Status adopt(rdma_cm_id& id, CmClient& client);
  [[nodiscard]] int descriptor() const noexcept { return channel_->fd; }
  // Gives out what has come.
  void ready(std::uint32_t events) override;

 private:
  explicit CmChannel(rdma_event_channel* channel) : channel_(channel) {}
  rdma_event_channel* const channel_;
};

}  // namespace exs::verbs
