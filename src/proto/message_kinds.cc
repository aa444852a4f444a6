// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/message_kinds.h"

namespace exs::proto {

using wire::MessageType;

namespace {

// For ordered messages only: windows, and adverts that say more than the place of bytes.
bool is_for_messages(const wire::Header& header) {
  switch (header.type) {
    case MessageType::kAdvert: return header.flags != 0;
    case MessageType::kOffer:
    case MessageType::kNotice:
    case MessageType::kRevoke:
    case MessageType::kRelease: return true;
    default: return false;
  }
}

bool is_for_tags(MessageType type) {
  return type >= MessageType::kTagged && type <= MessageType::kFetched;
}

// Useless on a connection for tagged messages.
bool is_for_others(MessageType type) {
  switch (type) {
    case MessageType::kAdvert:
    case MessageType::kImmediate:
    case MessageType::kRecall:
    case MessageType::kRecallAck:
    case MessageType::kMore:
    case MessageType::kGrant: return true;
    default: return false;
  }
}

}  // namespace

bool may_come(SocketKind kind, const wire::Header& header) noexcept {
  switch (kind) {
    case SocketKind::kMessage: return !is_for_tags(header.type);
    case SocketKind::kStream: return !is_for_messages(header) && !is_for_tags(header.type);
    case SocketKind::kTagged: return !is_for_messages(header) && !is_for_others(header.type);
  }
  return false;
}

bool spends_credit(SocketKind kind, MessageType type) noexcept {
  switch (type) {
    case MessageType::kNotice:
    case MessageType::kWant:
    case MessageType::kFetch: return true;
    case MessageType::kAck: return kind == SocketKind::kTagged;
    default: return false;
  }
}

}  // namespace exs::proto
