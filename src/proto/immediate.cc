#include "src/proto/immediate.h"

#include "src/proto/pieces.h"
#include "src/proto/token.h"
#include "src/wire/messages.h"

namespace exs::proto {

bool travels_immediate(const Operation& operation, const Agreement& agreement) {
  return !operation.never_immediate && operation.memory.length_bytes <= agreement.small_bytes;
}

Status send_immediate(Outbox& outbox, const Operation& operation, std::uint32_t sequence,
                      std::uint64_t operation_id) {
  wire::Message message;
  message.header.type = wire::MessageType::kImmediate;
  message.header.sequence = sequence;
  return outbox.send(message, operation.memory, make_token(PostKind::kImmediate, operation_id));
}

Outcome take_immediate(std::span<const std::byte> message, const Operation& receive) {
  const std::span<const std::byte> payload = message.subspan(wire::kHeaderBytes);
  const std::size_t taken = Pieces(receive).fill_from(payload);
  Outcome outcome;
  outcome.length_bytes = taken;
  outcome.flags = kImmediate | kEndOfMessage;
  if (taken > 0) outcome.flags |= kCopied;
  if (taken < payload.size()) outcome.flags |= kTruncated;
  return outcome;
}

}  // namespace exs::proto
