// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/channel/message_link.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "rpc/channel/close_socket.h"

namespace exs::rpc {

MessageLink::~MessageLink() {
  break_off();
  if (region_ != EXS_MHANDLE_INVALID) exs_mderegister(region_, 0);
  if (out_region_ != EXS_MHANDLE_INVALID) exs_mderegister(out_region_, 0);
}

Status MessageLink::start_receiving(std::uint32_t longest) {
  EXS_CHECK(receive_ == ReceiveState::kNone && region_ == EXS_MHANDLE_INVALID);
  longest_ = longest;
  region_ = exs_mregister(in_.data(), in_.size(), EXS_MRF_LOCAL_ONLY);
  return region_ == EXS_MHANDLE_INVALID ? Status(errno) : receive_next();
}

MessageLink::News MessageLink::take_event(const exs_event_t& event) {
  switch (event.exs_evt_type) {
    case EXS_EVT_SENDMSG:
    case EXS_EVT_SEND: return on_sent(event);
    case EXS_EVT_RECV: return on_received(event);
    default: return News::kNothing;
  }
}

MessageLink::News MessageLink::on_sent(const exs_event_t& event) {
  if (event.exs_evt_errno != 0) return end_with(Status(event.exs_evt_errno));
  if (!sends_.empty()) {
    spare_ = std::move(sends_.front());
    spare_.shrink();
    sends_.erase(sends_.begin());
  }
  if (receive_ != ReceiveState::kOwed) return News::kNothing;
  receive_ = ReceiveState::kNone;
  const Status posted = receive_next();
  return posted.ok() ? News::kNothing : end_with(posted);
}

MessageLink::News MessageLink::on_received(const exs_event_t& event) {
  if (event.exs_evt_errno != 0) return end_with(Status(event.exs_evt_errno));
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) return end_with(Status(ECONNRESET));
  if ((event.exs_evt_flags & EXS_EVF_TRUNC) != 0) return end_with(Status(EPROTO));
  const std::size_t bytes = event.exs_evt_union.exs_evt_xfer.exs_evt_length;
  const ReceiveState ended = std::exchange(receive_, ReceiveState::kNone);
  EXS_CHECK(ended == ReceiveState::kFrame || ended == ReceiveState::kBody);
  return ended == ReceiveState::kFrame ? take_frame(bytes) : take_long_message(bytes);
}

MessageLink::News MessageLink::take_frame(std::size_t bytes) {
  if (!get_frame(std::span(in_).first(bytes), frame_)) return end_with(Status(EPROTO));
  if (frame_.has_all) is_out_free_ = true;
  if (frame_.type == FrameType::kLong) {
    const Status posted = receive_body();
    return posted.ok() ? News::kNothing : end_with(posted);
  }
  if (frame_.length != bytes - kFrameBytes) return end_with(Status(EPROTO));
  received_ = {in_.data() + kFrameBytes, frame_.length};
  count_received(frame_.length);
  return News::kMessage;
}

MessageLink::News MessageLink::take_long_message(std::size_t bytes) {
  if (bytes != frame_.length) return end_with(Status(EPROTO));
  frame_.type = FrameType::kMessage;
  received_ = {body_.message(), bytes};
  count_received(bytes);
  return News::kMessage;
}

// The kernel provides the pages of this memory only as bytes arrive.
Status MessageLink::receive_body() {
  if (frame_.length <= kInlineBytes || frame_.length > longest_) return Status(EPROTO);
  if (!body_.reserve(frame_.length)) return Status(ENOMEM);
  receive_ = ReceiveState::kBody;
  return kernel_status(
      exs_recv(socket_, body_.message(), frame_.length, 0, queue_, handle_, region_of(body_)));
}

Status MessageLink::receive_next() {
  EXS_CHECK(receive_ == ReceiveState::kNone);
  received_ = {};
  body_.shrink();
  receive_ = sends_.size() < kLongSendsMax ? ReceiveState::kFrame : ReceiveState::kOwed;
  if (receive_ == ReceiveState::kOwed) return {};
  return kernel_status(exs_recv(socket_, in_.data(), in_.size(), 0, queue_, handle_, region_));
}

bool MessageLink::take_body(MessageBuffer& buffer) {
  if (received_.data() != body_.message() || received_.empty()) return false;
  std::swap(body_, buffer);
  return true;
}

Status MessageLink::send_frame(FrameType type, std::span<const std::byte> body) {
  std::array<std::byte, kFrameBytes + kTokenBytes> bytes;
  EXS_CHECK(body.size() <= kTokenBytes);
  put_frame({type, static_cast<std::uint32_t>(body.size()), false}, bytes.data());
  if (!body.empty()) std::memcpy(bytes.data() + kFrameBytes, body.data(), body.size());
  return kernel_status(exs_send(socket_, bytes.data(), kFrameBytes + body.size(), EXS_NO_EVENT, queue_,
                                handle_, EXS_MHANDLE_UNREGISTERED));
}

Status MessageLink::send(MessageBuffer& buffer, std::size_t bytes) {
  count_sent(bytes);
  return bytes > kInlineBytes ? send_long(buffer, bytes) : send_short(buffer, bytes);
}

Status MessageLink::send_short(const MessageBuffer& buffer, std::size_t bytes) {
  const bool has_all = std::exchange(is_out_free_, false);
  if (is_plain_ || !has_all || !has_out()) return send_unregistered(buffer, bytes, has_all);
  put_frame({FrameType::kMessage, static_cast<std::uint32_t>(bytes), has_all}, buffer.frame());
  const std::size_t in_all = kFrameBytes + bytes;
  std::memcpy(out_->data(), buffer.frame(), in_all);
  return kernel_status(exs_send(socket_, out_->data(), in_all, EXS_NO_EVENT, queue_, handle_, out_region_));
}

bool MessageLink::has_out() {
  if (out_ != nullptr) return out_region_ != EXS_MHANDLE_INVALID;
  out_.reset(new (std::nothrow) FrameMemory);
  if (out_ == nullptr) return false;
  out_region_ = exs_mregister(out_->data(), out_->size(), EXS_MRF_LOCAL_ONLY);
  return out_region_ != EXS_MHANDLE_INVALID;
}

Status MessageLink::send_copied(MessageBuffer& buffer, std::size_t bytes) {
  count_sent(bytes);
  return bytes > kInlineBytes ? send_long(buffer, bytes) : send_unregistered(buffer, bytes, false);
}

Status MessageLink::send_unregistered(const MessageBuffer& buffer, std::size_t bytes, bool has_all) {
  put_frame({FrameType::kMessage, static_cast<std::uint32_t>(bytes), has_all}, buffer.frame());
  return kernel_status(exs_send(socket_, buffer.frame(), kFrameBytes + bytes, EXS_NO_EVENT, queue_, handle_,
                                EXS_MHANDLE_UNREGISTERED));
}

Status MessageLink::send_kept(std::byte* frame, std::size_t bytes, exs_mhandle_t region) {
  EXS_CHECK(bytes <= kInlineBytes);
  count_sent(bytes);
  put_frame({FrameType::kMessage, static_cast<std::uint32_t>(bytes), false}, frame);
  return kernel_status(exs_send(socket_, frame, kFrameBytes + bytes, EXS_NO_EVENT, queue_, handle_, region));
}

// Before the send: its buffer must be kept.
Status MessageLink::reserve_long_send() {
  try {
    sends_.reserve(sends_.size() + 1);
    return {};
  } catch (const std::bad_alloc&) {
    return Status(ENOMEM);
  }
}

Status MessageLink::send_long(MessageBuffer& buffer, std::size_t bytes) {
  if (const Status reserved = reserve_long_send(); !reserved.ok()) return reserved;
  put_frame({FrameType::kLong, static_cast<std::uint32_t>(bytes), is_out_free_}, buffer.frame());
  if (exs_send(socket_, buffer.frame(), kFrameBytes, EXS_NO_EVENT, queue_, handle_, region_of(buffer)) != 0 ||
      exs_send(socket_, buffer.message(), bytes, EXS_NO_IMMEDIATE, queue_, handle_, region_of(buffer)) != 0)
    return Status(errno);
  sends_.push_back(std::exchange(buffer, std::exchange(spare_, {})));
  return {};
}

void MessageLink::break_off() {
  if (socket_ < 0) return;
  close_at_once(std::exchange(socket_, -1));
  sends_.clear();
}

int MessageLink::release_socket() {
  EXS_CHECK(receive_ == ReceiveState::kNone);
  return std::exchange(socket_, -1);
}

MessageLink::News MessageLink::end_with(Status why) {
  if (why_ended_.ok()) why_ended_ = why;
  return News::kEnd;
}

}  // namespace exs::rpc
