#include "src/proto/outbox.h"

#include <utility>

#include "src/proto/token.h"
#include "src/wire/codec.h"

namespace exs::proto {

Status Outbox::send(wire::Message message, LocalSlice payload, std::uint64_t token) {
  const std::uint32_t owed = credits_.owed();
  message.header.credits = static_cast<std::uint16_t>(owed);
  wire::FixedBytes fixed;
  if (const Status status = link_.post_send(wire::encode(message, fixed), payload, token); !status.ok())
    return status;
  credits_.returned(owed);
  ++in_flight_;
  sent_in_step_ = true;
  count(message.header.type);
  return {};
}

Status Outbox::send(wire::MessageType type, std::uint8_t flags) {
  wire::Message message;
  message.header.type = type;
  message.header.flags = flags;
  return send(message, {}, make_token(PostKind::kMessage, 0));
}

Status Outbox::return_credits() {
  const bool rode_along = std::exchange(sent_in_step_, false);
  if (rode_along || !credits_.return_is_due() || !has_room()) return {};
  const Status status = send(wire::MessageType::kCredit);
  sent_in_step_ = false;
  return status;
}

void Outbox::count(wire::MessageType type) {
  if (type == wire::MessageType::kAdvert) {
    ++counters_.adverts_sent;
    return;
  }
  if (type == wire::MessageType::kImmediate) {
    ++counters_.immediates_sent;
    return;
  }
  ++counters_.control_messages_sent;
  if (type == wire::MessageType::kAck) ++counters_.acks_sent;
  if (type == wire::MessageType::kCredit) ++counters_.credit_messages_sent;
}

}  // namespace exs::proto
