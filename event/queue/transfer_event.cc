// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/transfer_event.h"

#include "event/queue/attachment.h"

namespace exs {
namespace {

constexpr std::uint32_t event_flags(std::uint32_t outcome_flags) {
  std::uint32_t flags = 0;
  if ((outcome_flags & proto::kTruncated) != 0) flags |= EXS_EVF_TRUNC;
  if ((outcome_flags & proto::kEndOfStream) != 0) flags |= EXS_EVF_EOF;
  if ((outcome_flags & proto::kEndOfMessage) != 0) flags |= EXS_EVF_EOR;
  if ((outcome_flags & proto::kCopied) != 0) flags |= EXS_EVF_COPIED;
  if ((outcome_flags & proto::kImmediate) != 0) flags |= EXS_EVF_IMMEDIATE;
  return flags;
}

void tell_operation(exs_event_t& event, int socket, const proto::Operation& operation) {
  event.exs_evt_socket = socket;
  event.exs_evt_ahandle = operation.tag.handle;
  exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
  transfer.exs_evt_buf = operation.memory.address;
  transfer.exs_evt_bufsize = operation.memory.length_bytes;
  transfer.exs_evt_length = 0;
  transfer.exs_evt_offset = operation.offset;
  transfer.exs_evt_mhandle = static_cast<exs_mhandle_t>(operation.tag.memory_handle);
  transfer.exs_evt_count = 0;
}

// The event names what the caller posted, not what the library made of it.
void tell_posted(exs_event_t& event, const Attachment& attachment) {
  auto* posted = const_cast<void*>(attachment.posted);  // the caller's own pointer goes back to the caller
  const std::size_t length = event.exs_evt_union.exs_evt_xfer.exs_evt_length;
  const std::uint64_t offset = event.exs_evt_union.exs_evt_xfer.exs_evt_offset;
  event.exs_evt_flags |= attachment.event_flags;
  switch (event.exs_evt_type) {
    case EXS_EVT_SENDMSG:
    case EXS_EVT_RECVMSG:
      event.exs_evt_union.exs_evt_xfermsg = {static_cast<exs_msghdr_t*>(posted), length, offset};
      break;
    case EXS_EVT_SENDFILE:
      event.exs_evt_union.exs_evt_xferfile = {static_cast<exs_xferfile_t*>(posted), length};
      break;
    default:
      event.exs_evt_union.exs_evt_xfer.exs_evt_buf = posted;
      event.exs_evt_union.exs_evt_xfer.exs_evt_bufsize = attachment.posted_bytes;
  }
}

}  // namespace

void make_transfer_event(exs_event_t& event, int socket, proto::Direction direction,
                         const proto::Operation& operation, const proto::Outcome& outcome) {
  tell_operation(event, socket, operation);
  event.exs_evt_type = direction == proto::Direction::kSend ? EXS_EVT_SEND : EXS_EVT_RECV;
  if (operation.tag.event_type != 0) event.exs_evt_type = operation.tag.event_type;
  event.exs_evt_errno = outcome.error;
  event.exs_evt_flags = event_flags(outcome.flags);
  event.exs_evt_union.exs_evt_xfer.exs_evt_length = outcome.length_bytes;
  if ((outcome.flags & proto::kTruncated) != 0)
    event.exs_evt_union.exs_evt_xfer.exs_evt_offset = outcome.whole_bytes;
  if (operation.tag.attachment != nullptr) tell_posted(event, *operation.tag.attachment);
}

exs_event_t use_event(int socket, proto::Direction direction, const proto::Operation& operation) {
  exs_event_t event{};
  tell_operation(event, socket, operation);
  event.exs_evt_type = direction == proto::Direction::kSend ? EXS_EVT_PEER_READ : EXS_EVT_PEER_WRITE;
  event.exs_evt_flags = EXS_EVF_MORE;
  return event;
}

}  // namespace exs
