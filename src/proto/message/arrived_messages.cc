// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/message/arrived_messages.h"

#include "src/log/log.h"
#include "src/proto/recall.h"
#include "src/wire/codec.h"

namespace exs::proto {

using wire::MessageType;

Status ArrivedMessages::admit(const wire::Message& message) {
  const std::uint32_t sequence = message.header.sequence;
  if (sequence != path_.next_in) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: data message {} came, expected {}", sequence,
                 path_.next_in);
  }
  if (message.header.type == MessageType::kImmediate && message.payload_bytes > path_.small_bytes) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: immediate of {} bytes, {} agreed",
                 message.payload_bytes, path_.small_bytes);
  }
  if (const Status status = path_.credits.data_arrived(); !status.ok()) return status;
  ++path_.next_in;
  return {};
}

void ArrivedMessages::keep_immediate(std::uint64_t slot, std::uint32_t message_bytes) {
  ++immediates_held_;
  ArrivedMessage& arrived = waiting_.push_back({});
  arrived.source = MessageSource::kImmediate;
  arrived.slot = slot;
  arrived.message_bytes = message_bytes;
  arrived.length_bytes = message_bytes - wire::kHeaderBytes;
}

Status ArrivedMessages::keep_advert(const wire::Message& message, MessageSource source, bool busy,
                                    std::uint64_t slot, std::uint32_t message_bytes) {
  if (source == MessageSource::kWindow) {
    path_.credits.owe();
  } else {
    ++adverts_held_;
  }
  const wire::Advert& advert = message.advert;
  ArrivedMessage& arrived = waiting_.push_back({});
  arrived.source = source;
  arrived.at_offset = (message.header.flags & wire::kAtOffset) != 0;
  arrived.busy = busy;
  arrived.sequence = message.header.sequence;
  arrived.window = {advert.address, advert.length_bytes, advert.key};
  arrived.length_bytes = advert.length_bytes;
  arrived.target_offset = message.target_offset;
  if ((message.header.flags & wire::kList) == 0) return slots_.free(slot);
  arrived.slot = slot;
  arrived.message_bytes = message_bytes;
  arrived.list_bytes = message.payload_bytes;
  const std::span<const std::byte> list = list_of(arrived);
  for (std::size_t i = 0; i < list.size() / wire::kListEntryBytes; ++i)
    arrived.length_bytes += wire::list_entry(list, i).length_bytes;
  return {};
}

// Nothing comes behind a window.
void ArrivedMessages::revoke_window(bool shown) {
  waiting_.back().source = MessageSource::kRevoked;
  waiting_.back().length_bytes = 0;
  const std::size_t count = waiting_.count();
  const bool revoked_before = count > 1 && waiting_[count - 2].source == MessageSource::kRevoked;
  if (shown || revoked_before) waiting_.pop_back();
}

Result<bool> ArrivedMessages::recall(std::uint32_t sequence) {
  if (const Status status = check_recall(sequence, path_.next_in); !status.ok()) return failure(status);
  for (std::size_t i = 0; i < waiting_.count(); ++i) {
    const ArrivedMessage& advert = waiting_[i];
    if (advert.source != MessageSource::kAdvert || advert.busy || advert.sequence != sequence) continue;
    if (const Status status = free_list(advert); !status.ok()) return failure(status);
    --adverts_held_;
    waiting_.take(i);
    return true;
  }
  return false;
}

// An advert that asks for a persistent receive is answered, and leaves the receive to the next message.
std::uint64_t ArrivedMessages::next_bytes() const noexcept {
  for (std::size_t i = 0; i < waiting_.count(); ++i) {
    if (!waiting_[i].busy && !waiting_[i].at_offset) return waiting_[i].length_bytes;
  }
  return 0;
}

Status ArrivedMessages::free_immediate(const ArrivedMessage& immediate) {
  const Status status = free_unkept_immediate(immediate.slot);
  if (status.ok()) --immediates_held_;
  return status;
}

// The credit comes back with the slot, whatever became of the payload.
Status ArrivedMessages::free_unkept_immediate(std::uint64_t slot) {
  const Status status = slots_.free(slot);
  if (status.ok()) path_.credits.owe();
  return status;
}

}  // namespace exs::proto
