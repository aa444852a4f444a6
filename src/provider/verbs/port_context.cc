// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/port_context.h"

#include <utility>

#include "base/room.h"

namespace exs::verbs {

void PortContext::make_room_for_link() {
  for (std::vector<VerbsLink*>* list : {&links, &replying, &ending, &timed, &working})
    make_room(*list, links.size() + 1);
}

ClosingConnection::ClosingConnection(std::shared_ptr<CmChannel> channel, CmId id,
                                     std::unique_ptr<QueuePair> queue_pair, bool unanswered,
                                     std::uint64_t limit_ns)
    : channel_(std::move(channel)),
      id_(std::move(id)),
      queue_pair_(std::move(queue_pair)),
      unanswered_(unanswered) {
  limit_.start(limit_ns);
  id_->context = static_cast<CmClient*>(this);
  queue_pair_->forget_client();
}

ClosingConnection::~ClosingConnection() {
  if (!is_unanswered()) ::rdma_disconnect(id_.get());
}

bool ClosingConnection::is_done(std::uint64_t now_ns) {
  if (heard_) return true;
  return !unanswered_ && (queue_pair_->is_idle() || queue_pair_->has_failed() || limit_.is_due(now_ns));
}

}  // namespace exs::verbs
