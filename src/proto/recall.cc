// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/recall.h"

#include "src/log/log.h"
#include "src/proto/outbox.h"

namespace exs::proto {

// Numbers wrap: the half of them before `next` has come.
Status check_recall(std::uint32_t sequence, std::uint32_t next) {
  constexpr std::uint32_t kHalf = 1U << 31;
  if (next - 1 - sequence < kHalf) return {};
  return fault(LogLevel::kWarn, EPROTO, "protocol error: RECALL of {}, the last data message was {}",
               sequence, next - 1);
}

Status RecallAnswer::make(std::uint32_t sequence, bool recalled) {
  if (due_) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: RECALL of {} before the answer to that of {}",
                 sequence, sequence_);
  }
  due_ = true;
  recalled_ = recalled;
  sequence_ = sequence;
  return {};
}

Status RecallAnswer::send(Outbox& outbox, Credits& credits) {
  if (!due_ || !outbox.has_room()) return {};
  wire::Message message;
  message.header.type = wire::MessageType::kRecallAck;
  message.header.flags = recalled_ ? wire::kRecalled : 0;
  message.header.sequence = sequence_;
  if (recalled_) credits.owe();
  due_ = false;
  return outbox.send(message);
}

}  // namespace exs::proto
