// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/persistence/owned_window.h"

#include <utility>

#include "src/log/log.h"
#include "src/proto/token.h"

namespace exs::proto {

using wire::MessageType;

void OwnedWindow::hold(const Operation& operation) {
  state_ = State::kUnadvertised;
  window_ = {};
  operation_ = operation;
  usage_ = {};
}

Status OwnedWindow::expose() {
  if (operation_.memory.length_bytes == 0) return {};  // an empty window is never read or written
  const Access access = direction_ == Direction::kSend ? Access::kRemoteRead : Access::kRemoteWrite;
  const Result<RemoteSlice> window = link_.expose(operation_.memory, access);
  if (!window) return window.error();
  window_ = *window;
  return {};
}

Status OwnedWindow::send_advert(Outbox& outbox, std::uint32_t sequence) {
  wire::Message message;
  message.header.type = MessageType::kAdvert;
  message.header.flags = operation_.notify ? wire::kPersistent | wire::kNotify : wire::kPersistent;
  message.header.sequence = sequence;
  message.advert = {window_.address, window_.length_bytes, window_.key};
  if (const Status status = outbox.send(message); !status.ok()) return status;
  id_ = sequence;
  state_ = State::kActive;
  return {};
}

Status OwnedWindow::send_offer(Outbox& outbox) {
  wire::Message message;
  message.header.type = MessageType::kOffer;
  if (operation_.notify) message.header.flags |= wire::kNotify;
  if (operation_.mappable) message.header.flags |= wire::kMappable;
  message.header.sequence = id_ + 1;
  message.advert = {window_.address, window_.length_bytes, window_.key};
  if (const Status status = outbox.send(message); !status.ok()) return status;
  ++id_;
  state_ = State::kActive;
  return {};
}

void OwnedWindow::revoke(int error) noexcept {
  if (state_ != State::kActive) return;
  state_ = State::kRevokeDue;
  revoke_error_ = error;
}

Status OwnedWindow::send_revoke(Outbox& outbox) {
  wire::Message message;
  message.header.type = MessageType::kRevoke;
  message.header.flags = direction_ == Direction::kSend ? wire::kOfSend : wire::kOfReceive;
  message.header.sequence = id_;
  if (const Status status = outbox.send(message); !status.ok()) return status;
  state_ = State::kRevoked;
  return {};
}

Status OwnedWindow::check(const wire::Message& message) const {
  const Usage& usage = message.usage;
  const std::uint64_t size = operation_.memory.length_bytes;
  const char* wrong = nullptr;
  if (!is_advertised() || message.header.sequence != id_) {
    wrong = "not the window that stands";
  } else if (!operation_.notify && usage.transfers > 0) {
    wrong = "notice unasked";
  } else if (usage.last_offset > size || (size == 0 ? usage.bytes : usage.bytes / size) > usage.transfers) {
    wrong = "more than the window has";
  }
  if (wrong == nullptr) return {};
  return fault(LogLevel::kWarn, EPROTO, "protocol error: {} (type {}, window {})", wrong,
               static_cast<unsigned>(message.header.type), message.header.sequence);
}

Status OwnedWindow::on_control(const wire::Message& message, const Outcome& unasked, Outcome& outcome) {
  if (const Status status = check(message); !status.ok()) return status;
  const Usage& usage = message.usage;
  if (message.header.type == MessageType::kNotice) ++counters_.notices_received;
  if (usage.transfers > 0) count_use(usage);
  if (message.header.type == MessageType::kNotice) return {};
  outcome = is_revoked() ? Outcome{revoke_error_, 0, 0} : unasked;
  outcome.length_bytes = message.total_bytes;
  return close();
}

Status OwnedWindow::close() {
  const Status status = window_.length_bytes == 0 ? Status() : link_.withdraw(window_.key);
  if (status.ok()) state_ = State::kClosed;
  if (status.error() != EBUSY) return status;
  return fault(LogLevel::kWarn, EPROTO, "protocol error: window {} released while the peer still uses it",
               id_);
}

void OwnedWindow::count_use(const Usage& usage) {
  usage_.bytes += usage.bytes;
  usage_.transfers += usage.transfers;
  usage_.last_offset = usage.last_offset;
}

void OwnedWindow::deliver(OutcomeSink& sink) {
  if (usage_.transfers == 0) return;
  const Usage usage = std::exchange(usage_, {});
  if (operation_.notify) sink.used(direction_, operation_, usage);
}

}  // namespace exs::proto
