// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/outbox.h"
#include "base/check.h"

#include <cstring>
#include <tuple>
#include <utility>

#include "src/log/log.h"
#include "src/proto/token.h"
#include "src/wire/codec.h"

namespace exs::proto {

template <typename Post>
Status Outbox::post_by(wire::Message message, std::size_t tail_bytes, Post&& post) {
  message.header.credits = static_cast<std::uint16_t>(credits_.owed());
  wire::FixedBytes fixed;
  std::span<const std::byte> header = wire::encode(message, fixed);
  if (tail_bytes > 0) {
    std::byte* const start = scratch_.data() + fixed.size() - header.size();
    std::memcpy(start, header.data(), header.size());
    header = {start, header.size() + tail_bytes};
  }
  if (const Status status = post(header); !status.ok()) return status;
  ++in_flight_;
  sent(message.header);
  return {};
}

Status Outbox::post(const wire::Message& message, std::size_t tail_bytes, LocalSlice payload,
                    std::uint64_t token) {
  return post_by(message, tail_bytes,
                 [&](std::span<const std::byte> header) { return link_.post_send(header, payload, token); });
}

void Outbox::sent(const wire::Header& header) {
  credits_.returned(header.credits);
  sent_in_step_ = true;
  count(header.type);
}

bool Outbox::send_immediate_now(std::uint32_t sequence, LocalSlice payload) {
  const std::uint32_t owed = credits_.owed();
  const auto header = wire::encode_immediate(static_cast<std::uint16_t>(owed), sequence);
  if (!link_.send_now(header, payload).ok()) return false;
  credits_.returned(owed);
  sent_in_step_ = true;
  ++counters_.immediates_sent;
  return true;
}

bool Outbox::send_now(const wire::Message& message, LocalSlice payload) {
  wire::Message complete = message;
  complete.header.credits = static_cast<std::uint16_t>(credits_.owed());
  wire::FixedBytes fixed;
  if (!link_.send_now(wire::encode(complete, fixed), payload).ok()) return false;
  sent(complete.header);
  return true;
}

Status Outbox::send(wire::Message message, LocalSlice payload, std::uint64_t token) {
  return post(message, 0, payload, token);
}

Status Outbox::send(const wire::Message& message) {
  if (send_now(message)) return {};
  return post(message, 0, {}, make_token(PostKind::kMessage, 0));
}

Status Outbox::send_at_leisure(const wire::Message& message) {
  if (send_now(message)) return {};
  return post_by(message, 0, [&](std::span<const std::byte> header) {
    return link_.post_send_at_leisure(header, make_token(PostKind::kMessage, 0));
  });
}

Status Outbox::send(wire::MessageType type, std::uint8_t flags) {
  wire::Message message;
  message.header.type = type;
  message.header.flags = flags;
  return send(message);
}

std::span<std::byte> Outbox::tail_room(std::size_t bytes) {
  EXS_CHECK(bytes <= kCopiedBytesMax);
  constexpr std::size_t kBefore = std::tuple_size_v<wire::FixedBytes>;
  if (scratch_.size() < kBefore + bytes) scratch_.resize(kBefore + bytes);
  return std::span(scratch_).subspan(kBefore, bytes);
}

Status Outbox::send_with_tail(const wire::Message& message, std::size_t tail_bytes, std::uint64_t token) {
  return post(message, tail_bytes, {}, token);
}

Status Outbox::return_credits(bool at_once) {
  const bool rode_along = std::exchange(sent_in_step_, false);
  const bool due = at_once ? credits_.owed() > 0 : credits_.return_is_due();
  if (rode_along || !due || !has_room()) return {};
  const Status status = send(wire::MessageType::kCredit);
  sent_in_step_ = false;
  return status;
}

void Outbox::count(wire::MessageType type) {
  if (type == wire::MessageType::kAdvert || type == wire::MessageType::kTaggedAdvert) {
    ++counters_.adverts_sent;
    return;
  }
  if (type == wire::MessageType::kImmediate || type == wire::MessageType::kTagged) {
    ++counters_.immediates_sent;
    return;
  }
  ++counters_.control_messages_sent;
  if (type == wire::MessageType::kNotice) ++counters_.notices_sent;
  if (type == wire::MessageType::kAck) ++counters_.acks_sent;
  if (type == wire::MessageType::kCredit) ++counters_.credit_messages_sent;
}

}  // namespace exs::proto
