// The link's posts, windows and end.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/link.h"

#include <sys/socket.h>

#include <cerrno>
#include <new>

#include "base/kernel.h"
#include "src/log/log.h"
#include "src/provider/iwarp/limits.h"

namespace exs::iwarp {
namespace {

std::span<std::byte> memory_of(const LocalSlice& slice) {
  return {slice.address, slice.length_bytes};
}

// WindowTable takes the numbers from both ends of the range.
constexpr std::uint64_t kSinkNumber = std::uint64_t{1} << 63;

}  // namespace

IwarpLink::IwarpLink(PortContext& context, int descriptor, const LinkDepths& depths, std::uint64_t token,
                     const TagKey& tag_key)
    : context_(context),
      descriptor_(descriptor),
      receiver_(*this, windows_, reads_),
      transmitter_(*this, context.chunks, reads_),
      depths_(depths),
      token_(token),
      next_sink_(static_cast<std::uint32_t>(TagSource(tag_key).at(kSinkNumber))),
      windows_(tag_key) {
  context_.make_room_for_link();
}

IwarpLink::~IwarpLink() {
  if (!is_over()) close();
  context_.link_is_gone();
}

Status IwarpLink::post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) {
  const Status status = queue_send(header, payload, token);
  if (status.ok()) mark_to_flush();
  return status;
}

Status IwarpLink::post_send_at_leisure(std::span<const std::byte> header, std::uint64_t token) {
  const bool may_wait =
      state_ == State::kOpen && context_.company != nullptr && context_.company->is_expected();
  if (!may_wait) return post_send(header, {}, token);
  const Status status = queue_send(header, {}, token);
  if (status.ok() && !holds_back_) {
    holds_back_ = true;
    context_.held_back.push_back(this);
  }
  return status;
}

Status IwarpLink::queue_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) {
  if (is_over()) return Status(ENOTCONN);
  if (header.size() > kMessageBytesMax || payload.length_bytes > kMessageBytesMax - header.size()) {
    return Status(EMSGSIZE);
  }
  if (transmitter_.sends_queued() >= depths_.sends) return Status(EAGAIN);
  transmitter_.queue_send(header, memory_of(payload), token);
  return {};
}

Status IwarpLink::post_recv(LocalSlice into, std::uint64_t token) {
  if (is_over()) return Status(ENOTCONN);
  if (receiver_.receives_posted() >= depths_.receives) return Status(EAGAIN);
  receiver_.post_receive({memory_of(into), token});
  return {};
}

Status IwarpLink::post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) {
  // No window of the peer is known before the handshake is done.
  if (state_ != State::kOpen && state_ != State::kReplying) return Status(ENOTCONN);
  if (into.length_bytes > kTransferBytesMax) return Status(EMSGSIZE);
  if (into.length_bytes > from.length_bytes) return Status(EINVAL);
  if (reads_.limit == 0) return Status(EOPNOTSUPP);
  if (receiver_.reads().count() >= depths_.reads_out) return Status(EAGAIN);
  if (++next_sink_ <= 1) next_sink_ = 2;
  receiver_.post_read({memory_of(into), next_sink_, token});
  ReadRequest request;
  request.sink_stag = next_sink_;
  request.length_bytes = static_cast<std::uint32_t>(into.length_bytes);
  request.source_stag = from.key;
  request.source_offset = from.address;
  transmitter_.queue_read(request, token);
  mark_to_flush();
  return {};
}

Status IwarpLink::post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) {
  if (is_over()) return Status(ENOTCONN);
  if (from.length_bytes > kTransferBytesMax) return Status(EMSGSIZE);
  if (from.length_bytes > to.length_bytes) return Status(EINVAL);
  transmitter_.queue_write(memory_of(from), to.key, to.address, token);
  mark_to_flush();
  return {};
}

Result<RemoteSlice> IwarpLink::expose(LocalSlice memory, Access access) {
  if (is_over()) return failure(ENOTCONN);
  const Result<std::uint32_t> stag = windows_.open(memory_of(memory), access);
  if (!stag) return failure(stag.error());
  return RemoteSlice{0, memory.length_bytes, *stag};
}

Status IwarpLink::withdraw(std::uint32_t key) {
  if (is_over()) return {};  // every window was shut with the link
  if (receiver_.writes_into(key)) return Status(EBUSY);
  return windows_.close(key);
}

bool IwarpLink::takes_message(std::span<const std::byte> message) {
  if (taker_ == nullptr) return false;
  const bool is_next = context_.completions.empty() || completions_->waiting == 0;
  return is_next && taker_->take(ArrivingMessage(message));
}

void IwarpLink::message_received(std::uint64_t token, std::uint32_t length_bytes) {
  complete(CompletionKind::kReceive, {}, token, length_bytes);
}

void IwarpLink::read_completed(std::uint64_t token) {
  complete(CompletionKind::kRead, {}, token);
  if (transmitter_.has_work()) mark_to_send();  // a read may have waited for this one
}

void IwarpLink::read_requested(const ReadRequest& request, const std::byte* source) {
  windows_.begin_serving(request.source_stag);
  transmitter_.queue_response(request, source);
  mark_to_send();
}

void IwarpLink::message_left(MessageKind kind, std::uint64_t token) {
  switch (kind) {
    case MessageKind::kHandshake: handshake_left_ = true; break;
    case MessageKind::kSend: complete(CompletionKind::kSend, {}, token); break;
    case MessageKind::kWrite: complete(CompletionKind::kWrite, {}, token); break;
    case MessageKind::kReadRequest:  // ends when its answer is complete
    case MessageKind::kNudge:
    case MessageKind::kShort: break;  // it was over when it was posted
    case MessageKind::kReadResponse:
      windows_.end_serving(static_cast<std::uint32_t>(token));
      receiver_.read_answered();
      break;
  }
}

void IwarpLink::message_dropped(MessageKind kind, std::uint64_t token) {
  if (kind == MessageKind::kSend) complete_cut(CompletionKind::kSend, token);
  if (kind == MessageKind::kWrite) complete_cut(CompletionKind::kWrite, token);
}

Status IwarpLink::release() {
  if (state_ != State::kOpen || transmitter_.has_work()) return Status(ENOTCONN);
  if (watched_) context_.poller.remove(descriptor_);
  watched_ = false;
  context_.forget(this);
  context_.nudges.forget(this);
  receiver_.drop_receives();
  state_ = State::kClosed;
  return Status();
}

void IwarpLink::close() noexcept {
  if (is_over()) {
    state_ = State::kClosed;
    return;
  }
  shut(Status(ECANCELED), {});
  state_ = State::kClosed;
}

void IwarpLink::end(Status status, std::span<const std::byte> terminate) noexcept {
  if (is_over()) return;
  // A peer that ends its stream in order still leaves posts that cannot be carried out any more.
  shut(status.ok() ? Status(ECONNRESET) : status, terminate);
  state_ = State::kEnded;
  context_.completions.push_last(*completions_, {CompletionKind::kDisconnected, status, 0, token_, 0});
}

void IwarpLink::shut(Status status, std::span<const std::byte> terminate) noexcept {
  ending_ = status;
  if (watched_) context_.poller.remove(descriptor_);
  watched_ = false;
  context_.forget(this);
  context_.nudges.forget(this);
  transmitter_.abandon();
  if (!terminate.empty()) send_terminate(terminate);
  transmitter_.clear();
  while (!receiver_.reads().empty()) complete_cut(CompletionKind::kRead, receiver_.reads().pop_front().token);
  receiver_.take_receives(
      [this](const PostedReceive& receive) { complete_cut(CompletionKind::kReceive, receive.token); });
  receiver_.stop();
  windows_.clear();
  reply_.reset();
  shut_down(descriptor_, cookie_, SHUT_WR);
}

void IwarpLink::send_terminate(std::span<const std::byte> frame) noexcept try {
  transmitter_.queue_terminate(frame);
  iovec entries[Transmitter::kPiecesMax];
  IoJob job;
  job.descriptor = descriptor_;
  job.is_send = true;
  job.message.msg_iov = entries;
  job.message.msg_iovlen = transmitter_.gather(entries);
  run_job(job);
  shut_down(descriptor_, cookie_, SHUT_WR);
  // Unread input would turn the coming close into a reset that overtakes these words.
  constexpr int kDrainCalls = 16;
  constexpr std::size_t kDrainBytes = 1UL << 20;
  for (int i = 0; i < kDrainCalls; ++i) {
    if (kernel::recv(descriptor_, nullptr, kDrainBytes, MSG_DONTWAIT | MSG_TRUNC) <= 0) break;
  }
} catch (const std::bad_alloc&) {
  // The peer finds the end of the stream.
}

void IwarpLink::complete(CompletionKind kind, Status status, std::uint64_t token,
                         std::uint32_t length_bytes) {
  context_.completions.push(*completions_, {kind, status, length_bytes, token_, token});
}

void IwarpLink::complete_cut(CompletionKind kind, std::uint64_t token) noexcept {
  context_.completions.push_if_room(*completions_, {kind, ending_, 0, token_, token});
}

void IwarpLink::end_holding_back() noexcept {
  holds_back_ = false;
  if (transmitter_.has_work()) mark_to_flush();
}

void IwarpLink::mark_to_flush() {
  if (marked_to_flush_ || state_ == State::kConnecting || state_ == State::kAwaitingReply) return;
  marked_to_flush_ = true;
  context_.to_flush.push_back(this);
}

void IwarpLink::mark_to_receive() {
  if (marked_to_receive_) return;
  marked_to_receive_ = true;
  context_.to_receive.push_back(this);
}

void IwarpLink::mark_to_send() {
  if (marked_to_send_) return;
  marked_to_send_ = true;
  context_.to_send.push_back(this);
}

}  // namespace exs::iwarp
