// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/advert.h"

#include <algorithm>
#include <utility>

#include "src/log/log.h"
#include "src/proto/token.h"
#include "src/wire/codec.h"

namespace exs::proto {

std::size_t windows_max(std::size_t slot_bytes) {
  const std::size_t list = std::min(slot_bytes - wire::kAtOffsetAdvertBytes, kCopiedBytesMax);
  return 1 + list / wire::kListEntryBytes;
}

// An empty window is never read, so none is opened.
Result<RemoteSlice> Adverts::open_window(const LocalSlice& memory) {
  if (memory.length_bytes == 0) return RemoteSlice{};
  return link_.expose(memory, Access::kRemoteRead);
}

Status Adverts::send(const RemoteSlice& window, std::uint32_t sequence, std::uint64_t operation_id) {
  return send({window, {}, window.length_bytes}, {}, sequence, operation_id);
}

Status Adverts::send(Windows windows, const Operation& operation, std::uint32_t sequence,
                     std::uint64_t operation_id) {
  wire::Message message;
  message.header.type = wire::MessageType::kAdvert;
  message.header.sequence = sequence;
  message.advert = on_wire(windows.first);
  if (operation.at_offset) {
    message.header.flags |= wire::kAtOffset;
    message.target_offset = operation.offset;
  }
  Status status;
  if (windows.more.empty()) {
    status = outbox_.send(message);
  } else {
    message.header.flags |= wire::kList;
    const std::span<std::byte> list = outbox_.tail_room(windows.more.size() * wire::kListEntryBytes);
    for (std::size_t i = 0; i < windows.more.size(); ++i)
      wire::encode_list_entry(on_wire(windows.more[i]), list, i);
    status = outbox_.send_with_tail(message, list.size(), make_token(PostKind::kMessage, 0));
  }
  if (!status.ok()) {
    // The peer does not know of the windows, so it cannot be reading.
    static_cast<void>(close_windows(link_, windows));
    return status;
  }
  outstanding_.push_back({operation_id, sequence, operation.at_offset, Recall::kNone, 0, std::move(windows)});
  return {};
}

Result<Adverts::Acknowledged> Adverts::on_ack(const wire::Message& message) {
  const std::uint32_t sequence = message.header.sequence;
  if (outstanding_.empty()) {
    return failure(
        fault(LogLevel::kWarn, EPROTO, "protocol error: ACK of {}, no advert is outstanding", sequence));
  }
  const Outstanding& oldest = outstanding_.front();
  if (sequence != oldest.sequence) {
    return failure(fault(LogLevel::kWarn, EPROTO, "protocol error: ACK of {}, the oldest advert is {}",
                         sequence, oldest.sequence));
  }
  if (message.ack.bytes_taken > oldest.windows.length_bytes) {
    return failure(fault(LogLevel::kWarn, EPROTO, "protocol error: ACK of {} takes {} of {} bytes", sequence,
                         message.ack.bytes_taken, oldest.windows.length_bytes));
  }
  const wire::AckStatus answer = message.ack.status;
  if (answer == wire::AckStatus::kBusy || (!oldest.at_offset && answer > wire::AckStatus::kRefused)) {
    return failure(fault(LogLevel::kWarn, EPROTO, "protocol error: ACK of {} with status {}", sequence,
                         static_cast<unsigned>(answer)));
  }
  const Status status = close_windows(link_, oldest.windows);
  if (status.error() == EBUSY) {
    return failure(
        fault(LogLevel::kWarn, EPROTO, "protocol error: ACK of {} while the peer still reads", sequence));
  }
  if (!status.ok()) return failure(status);
  if (oldest.recall == Recall::kDue) --recalls_due_;
  const Outstanding ended = outstanding_.pop_front();
  return Acknowledged{ended.operation_id, ended.windows.length_bytes};
}

bool Adverts::recall(std::uint64_t operation_id, std::uint64_t bytes, int error) {
  for (std::size_t i = 0; i < outstanding_.count(); ++i) {
    Outstanding& advert = outstanding_[i];
    if (advert.operation_id != operation_id) continue;
    if (advert.recall == Recall::kDenied || advert.windows.length_bytes != bytes) return false;
    if (advert.recall != Recall::kNone) return true;
    advert.recall = Recall::kDue;
    advert.recall_error = error;
    ++recalls_due_;
    return true;
  }
  return false;
}

Status Adverts::send_recall() {
  std::size_t due = 0;
  while (outstanding_[due].recall != Recall::kDue) ++due;
  wire::Message message;
  message.header.type = wire::MessageType::kRecall;
  message.header.sequence = outstanding_[due].sequence;
  if (const Status status = outbox_.send(message); !status.ok()) return status;
  outstanding_[due].recall = Recall::kAsked;
  --recalls_due_;
  recall_sent_ = true;
  recalled_sequence_ = message.header.sequence;
  return {};
}

Result<std::optional<Adverts::Recalled>> Adverts::on_recall_ack(const wire::Message& message) {
  const std::uint32_t sequence = message.header.sequence;
  if (!recall_sent_ || sequence != recalled_sequence_) {
    return failure(fault(LogLevel::kWarn, EPROTO, "protocol error: RECALL_ACK of {}, which was not asked for",
                         sequence));
  }
  recall_sent_ = false;
  const bool is_back = (message.header.flags & wire::kRecalled) != 0;
  std::size_t place = 0;
  while (place < outstanding_.count() && outstanding_[place].sequence != sequence) ++place;
  if (!is_back) {
    if (place < outstanding_.count()) outstanding_[place].recall = Recall::kDenied;
    return std::optional<Recalled>();
  }
  if (place == outstanding_.count()) {
    return failure(
        fault(LogLevel::kWarn, EPROTO, "protocol error: RECALL_ACK gives back {} after its ACK", sequence));
  }
  const Status status = close_windows(link_, outstanding_[place].windows);
  if (status.error() == EBUSY) {
    return failure(fault(LogLevel::kWarn, EPROTO,
                         "protocol error: RECALL_ACK gives back {}, which the peer still reads", sequence));
  }
  if (!status.ok()) return failure(status);
  const Outstanding ended = outstanding_.take(place);
  return std::optional<Recalled>({ended.operation_id, ended.recall_error});
}

}  // namespace exs::proto
