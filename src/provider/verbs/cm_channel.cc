// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/cm_channel.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "base/undo.h"

namespace exs::verbs {
namespace {

// One port must not keep its shard for ever.
constexpr int kConnectionEventsMax = 64;

}  // namespace

Result<std::shared_ptr<CmChannel>> CmChannel::open() {
  rdma_event_channel* const channel = ::rdma_create_event_channel();
  if (channel == nullptr) return failure(errno);
  kernel::fcntl(channel->fd, F_SETFL, kernel::fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  kernel::fcntl(channel->fd, F_SETFD, FD_CLOEXEC);
  Undo destroy([&] { ::rdma_destroy_event_channel(channel); });
  std::unique_ptr<CmChannel> made(new CmChannel(channel));
  destroy.cancel();
  return std::shared_ptr<CmChannel>(std::move(made));
}

CmChannel::~CmChannel() {
  ::rdma_destroy_event_channel(channel_);
}

Result<CmId> CmChannel::make_id(CmClient& client) {
  rdma_cm_id* id = nullptr;
  if (::rdma_create_id(channel_, &id, &client, RDMA_PS_TCP) != 0) return failure(errno);
  return CmId(id);
}

Status CmChannel::adopt(rdma_cm_id& id, CmClient& client) {
  if (::rdma_migrate_id(&id, channel_) != 0) return Status(errno);
  id.context = &client;
  return Status();
}

void CmChannel::ready(std::uint32_t) {
  rdma_cm_event* event = nullptr;
  for (int i = 0; i < kConnectionEventsMax && ::rdma_get_cm_event(channel_, &event) == 0; ++i) {
    // A new connection has no client of its own yet.
    rdma_cm_id* const owner = event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->listen_id : event->id;
    static_cast<CmClient*>(owner->context)->cm_event(*event);
    ::rdma_ack_cm_event(event);
  }
}

}  // namespace exs::verbs
