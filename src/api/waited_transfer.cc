// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/waited_transfer.h"

#include "event/queue/wait.h"

namespace exs {

Result<WaitedTransfers> WaitedTransfers::on(Library& library, int socket) {
  auto target = find_session(library, socket);
  if (!target) return failure(target.error());
  PrivateQueue queue(target->session->shard());
  target->held_queue = queue.queue();
  target->queue = target->held_queue.get();
  return WaitedTransfers(std::move(*target), std::move(queue));
}

// The handle is unique while the queue lives.
TransferRequest WaitedTransfers::request(proto::Direction direction, int flags) const {
  return {direction, target_.held_socket->number(), flags, EXS_QHANDLE_INVALID, target_.queue};
}

Result<std::size_t> WaitedTransfers::outcome(const TransferRequest& request, std::uint64_t deadline_ns,
                                             Status late) {
  exs_event_t event{};
  int reason = 0;  // why it was cancelled
  for (;;) {
    const auto limit = WaitLimit::until(reason == 0 ? deadline_ns : kNoDeadline);
    const auto taken = wait_for_events(*target_.queue, &event, 1, 1, limit);
    if (taken && *taken == 1) break;
    if (reason != 0) continue;
    reason = taken ? late.error() : taken.error().error();
    interrupted_ = reason == EINTR;
    proto::Selection selection;
    selection.any_handle = false;
    selection.handle = request.handle;
    cancel_on(*target_.held_socket, selection);
  }
  if (event.exs_evt_errno == 0 && (event.exs_evt_flags & EXS_EVF_TRUNC) != 0) {
    if ((request.flags & MSG_TRUNC) == 0) return failure(EMSGSIZE);
    return event.exs_evt_union.exs_evt_xfer.exs_evt_offset;  // of the whole message
  }
  const std::size_t moved = event.exs_evt_union.exs_evt_xfer.exs_evt_length;
  if (event.exs_evt_errno == 0 || (reason != 0 && moved > 0)) return moved;
  if (reason != 0 && event.exs_evt_errno == ECANCELED) return failure(reason);
  return failure(told_by(*target_.held_socket, event.exs_evt_errno));
}

}  // namespace exs
