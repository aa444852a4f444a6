// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/persistence/peer_window.h"

#include "src/log/log.h"

namespace exs::proto {

using wire::MessageType;

void PeerWindow::accept(const wire::Message& message) {
  state_ = State::kActive;
  id_ = message.header.sequence;
  notify_ = (message.header.flags & wire::kNotify) != 0;
  mappable_ = (message.header.flags & wire::kMappable) != 0;
  window_ = {message.advert.address, message.advert.length_bytes, message.advert.key};
  total_bytes_ = 0;
  usage_ = {};
}

Result<RemoteSlice> PeerWindow::part(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > window_.length_bytes || bytes > window_.length_bytes - offset) return failure(ERANGE);
  return RemoteSlice{window_.address + offset, bytes, window_.key};
}

Result<RemoteSlice> PeerWindow::mappable() const {
  if (!is_active()) return failure(EAGAIN);
  if (!mappable_) return failure(EACCES);
  return window_;
}

void PeerWindow::count_use(std::uint64_t bytes, std::uint64_t offset) {
  total_bytes_ += bytes;
  if (!notify_ || usage_.transfers == UINT32_MAX) return;
  usage_.bytes += bytes;
  usage_.last_offset = offset;
  ++usage_.transfers;
}

Result<bool> PeerWindow::on_revoke(const wire::Message& message) {
  const std::uint32_t id = message.header.sequence;
  if (is_active() && id == id_) {
    state_ = State::kReleasing;
    return true;
  }
  // We may have let go of it ourselves just before.
  if (is_releasing() ? id == id_ : has_gone_ && id == gone_id_) return false;
  return failure(
      fault(LogLevel::kWarn, EPROTO, "protocol error: REVOKE of window {}, which does not stand", id));
}

wire::Message PeerWindow::about(MessageType type) const {
  wire::Message message;
  message.header.type = type;
  message.header.flags = direction_ == Direction::kReceive ? wire::kOfSend : wire::kOfReceive;
  message.header.sequence = id_;
  message.usage = usage_;
  return message;
}

Status PeerWindow::send_notice(Outbox& outbox, Credits& credits) {
  if (const Status status = outbox.send(about(MessageType::kNotice)); !status.ok()) return status;
  credits.spend();
  usage_ = {};
  return {};
}

Status PeerWindow::send_release(Outbox& outbox) {
  wire::Message message = about(MessageType::kRelease);
  message.total_bytes = total_bytes_;
  if (const Status status = outbox.send(message); !status.ok()) return status;
  state_ = State::kNone;
  refused(id_);
  return {};
}

}  // namespace exs::proto
