// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/channel/link.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "rpc/channel/close_at_once.h"

namespace exs::rpc {

Link::~Link() {
  break_off();
  if (region_ != EXS_MHANDLE_INVALID) exs_mderegister(region_, 0);
  if (out_region_ != EXS_MHANDLE_INVALID) exs_mderegister(out_region_, 0);
}

bool Link::begin(std::uint32_t longest) {
  longest_ = longest;
  region_ = exs_mregister(in_.data(), in_.size(), EXS_MRF_LOCAL_ONLY);
  return region_ != EXS_MHANDLE_INVALID && receive_next();
}

Link::News Link::take(const exs_event_t& event) {
  if (event.exs_evt_type == EXS_EVT_SENDMSG || event.exs_evt_type == EXS_EVT_SEND) {
    if (event.exs_evt_errno != 0) return end(event.exs_evt_errno);
    if (!sends_.empty()) {
      spare_ = std::move(sends_.front());
      spare_.shrink();
      sends_.erase(sends_.begin());
    }
    if (!owes_receive_ || receive_next()) return News::kNothing;
    return end(errno);
  }
  if (event.exs_evt_type != EXS_EVT_RECV) return News::kNothing;
  if (event.exs_evt_errno != 0) return end(event.exs_evt_errno);
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) return end(ECONNRESET);
  const std::size_t bytes = event.exs_evt_union.exs_evt_xfer.exs_evt_length;
  if ((event.exs_evt_flags & EXS_EVF_TRUNC) != 0) return end(EPROTO);
  if (!awaits_body_) return take_frame(bytes);
  awaits_body_ = false;
  if (bytes != frame_.length) return end(EPROTO);
  frame_.type = FrameType::kMessage;
  received_ = {body_.message(), bytes};
  received_bytes += bytes;
  return News::kMessage;
}

Link::News Link::take_frame(std::size_t bytes) {
  if (!get_frame(in_.data(), bytes, frame_)) return end(EPROTO);
  if (frame_.has_all) is_out_free_ = true;
  if (frame_.type == FrameType::kLong) return receive_body() ? News::kNothing : end(errno);
  if (frame_.length != bytes - kFrameBytes) return end(EPROTO);
  received_ = {in_.data() + kFrameBytes, frame_.length};
  received_bytes += frame_.length;
  return News::kMessage;
}

// The kernel provides the pages of this memory only as bytes arrive.
bool Link::receive_body() {
  if (frame_.length <= kInlineBytes || frame_.length > longest_) {
    errno = EPROTO;
    return false;
  }
  if (!body_.reserve(frame_.length)) {
    errno = ENOMEM;
    return false;
  }
  awaits_body_ = true;
  return exs_recv(socket_, body_.message(), frame_.length, 0, queue_, handle_, region_of(body_)) == 0;
}

bool Link::receive_next() {
  received_ = {};
  body_.shrink();
  owes_receive_ = sends_.size() >= kLongSendsMax;
  return owes_receive_ || exs_recv(socket_, in_.data(), in_.size(), 0, queue_, handle_, region_) == 0;
}

bool Link::take_body(MessageBuffer& buffer) {
  if (received_.data() != body_.message() || received_.empty()) return false;
  std::swap(body_, buffer);
  return true;
}

bool Link::send_frame(FrameType type, std::span<const std::byte> body) {
  std::array<std::byte, kFrameBytes + kTokenBytes> bytes;
  put_frame({type, static_cast<std::uint32_t>(body.size()), false}, bytes.data());
  if (!body.empty()) std::memcpy(bytes.data() + kFrameBytes, body.data(), body.size());
  return exs_send(socket_, bytes.data(), kFrameBytes + body.size(), EXS_NO_EVENT, queue_, handle_,
                  EXS_MHANDLE_UNREGISTERED) == 0;
}

bool Link::send(MessageBuffer& buffer, std::size_t bytes) {
  sent_bytes += bytes;
  return bytes > kInlineBytes ? send_long(buffer, bytes) : send_short(buffer, bytes);
}

bool Link::send_short(const MessageBuffer& buffer, std::size_t bytes) {
  const bool has_all = std::exchange(is_out_free_, false);
  if (is_plain_ || !has_all || !has_out()) return send_unregistered(buffer, bytes, has_all);
  put_frame({FrameType::kMessage, static_cast<std::uint32_t>(bytes), has_all}, buffer.frame());
  const std::size_t in_all = kFrameBytes + bytes;
  std::memcpy(out_->data(), buffer.frame(), in_all);
  return exs_send(socket_, out_->data(), in_all, EXS_NO_EVENT, queue_, handle_, out_region_) == 0;
}

bool Link::has_out() {
  if (out_ != nullptr) return out_region_ != EXS_MHANDLE_INVALID;
  out_.reset(new (std::nothrow) FrameMemory);
  if (out_ == nullptr) return false;
  out_region_ = exs_mregister(out_->data(), out_->size(), EXS_MRF_LOCAL_ONLY);
  return out_region_ != EXS_MHANDLE_INVALID;
}

bool Link::send_copied(MessageBuffer& buffer, std::size_t bytes) {
  sent_bytes += bytes;
  return bytes > kInlineBytes ? send_long(buffer, bytes) : send_unregistered(buffer, bytes, false);
}

bool Link::send_unregistered(const MessageBuffer& buffer, std::size_t bytes, bool has_all) {
  put_frame({FrameType::kMessage, static_cast<std::uint32_t>(bytes), has_all}, buffer.frame());
  return exs_send(socket_, buffer.frame(), kFrameBytes + bytes, EXS_NO_EVENT, queue_, handle_,
                  EXS_MHANDLE_UNREGISTERED) == 0;
}

bool Link::send_kept(std::byte* frame, std::size_t bytes, exs_mhandle_t region) {
  sent_bytes += bytes;
  put_frame({FrameType::kMessage, static_cast<std::uint32_t>(bytes), false}, frame);
  return exs_send(socket_, frame, kFrameBytes + bytes, EXS_NO_EVENT, queue_, handle_, region) == 0;
}

// Before the send: its buffer must be kept.
bool Link::has_place_for_long() {
  try {
    sends_.reserve(sends_.size() + 1);
    return true;
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return false;
  }
}

bool Link::send_long(MessageBuffer& buffer, std::size_t bytes) {
  if (!has_place_for_long()) return false;
  put_frame({FrameType::kLong, static_cast<std::uint32_t>(bytes), is_out_free_}, buffer.frame());
  if (exs_send(socket_, buffer.frame(), kFrameBytes, EXS_NO_EVENT, queue_, handle_, region_of(buffer)) != 0 ||
      exs_send(socket_, buffer.message(), bytes, EXS_NO_IMMEDIATE, queue_, handle_, region_of(buffer)) != 0)
    return false;
  sends_.push_back(std::exchange(buffer, std::exchange(spare_, {})));
  return true;
}

void Link::break_off() {
  if (socket_ < 0) return;
  close_at_once(std::exchange(socket_, -1));
  sends_.clear();
}

Link::News Link::end(int error) {
  if (error_ == 0) error_ = error;
  return News::kEnd;
}

}  // namespace exs::rpc
