// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/immediate.h"

#include <algorithm>

#include "src/proto/slice_cursor.h"
#include "src/proto/token.h"
#include "src/wire/messages.h"

namespace exs::proto {

bool travels_immediate(const Operation& operation, const Agreement& agreement) {
  if (operation.never_immediate || operation.at_offset) return false;
  const std::uint64_t most = operation.vector.empty()
                                 ? agreement.small_bytes
                                 : std::min<std::uint64_t>(agreement.small_bytes, kCopiedBytesMax);
  return operation.memory.length_bytes <= most;
}

namespace {

wire::Message immediate(std::uint32_t sequence) {
  wire::Message message;
  message.header.type = wire::MessageType::kImmediate;
  message.header.sequence = sequence;
  return message;
}

}  // namespace

Status send_immediate(Outbox& outbox, const Operation& operation, std::uint32_t sequence,
                      std::uint64_t operation_id) {
  const wire::Message message = immediate(sequence);
  const std::uint64_t token = make_token(PostKind::kImmediate, operation_id);
  if (operation.vector.empty()) return outbox.send(message, operation.memory, token);
  const std::size_t bytes = operation.memory.length_bytes;
  SliceCursor(operation).drain_into(outbox.tail_room(bytes));
  return outbox.send_with_tail(message, bytes, token);
}

void take_immediate(const ArrivingMessage& message, const Operation& receive, Outcome& outcome) {
  const std::size_t payload_bytes = message.length_bytes() - wire::kHeaderBytes;
  copy_payload(message, wire::kHeaderBytes, payload_bytes, receive);
  outcome = received_immediate(receive, payload_bytes);
}

}  // namespace exs::proto
