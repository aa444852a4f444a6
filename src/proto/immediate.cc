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

Status send_immediate(Outbox& outbox, const Operation& operation, std::uint32_t sequence,
                      std::uint64_t operation_id) {
  wire::Message message;
  message.header.type = wire::MessageType::kImmediate;
  message.header.sequence = sequence;
  const std::uint64_t token = make_token(PostKind::kImmediate, operation_id);
  if (operation.vector.empty()) return outbox.send(message, operation.memory, token);
  const std::size_t bytes = operation.memory.length_bytes;
  SliceCursor(operation).drain_into(outbox.tail_room(bytes));
  return outbox.send_with_tail(message, bytes, token);
}

Outcome take_immediate(std::span<const std::byte> message, const Operation& receive) {
  const std::span<const std::byte> payload = message.subspan(wire::kHeaderBytes);
  const std::size_t taken = SliceCursor(receive).fill_from(payload);
  Outcome outcome;
  outcome.length_bytes = taken;
  outcome.flags = kImmediate | kEndOfMessage;
  if (taken > 0) outcome.flags |= kCopied;
  if (taken < payload.size()) {
    outcome.flags |= kTruncated;
    outcome.whole_bytes = payload.size();
  }
  return outcome;
}

}  // namespace exs::proto
