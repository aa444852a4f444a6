// Checks of an FPDU before it touches memory, and the effects of its end (RFC 5040-5042).
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/receiver.h"

#include <cstring>
#include <utility>

#include "base/mapped_memory.h"

namespace exs::iwarp {
namespace {

constexpr std::uint8_t kOurDdpVersion = 1;
constexpr std::uint8_t kOurRdmapVersion = 1;
// At this size a check of the memory costs next to nothing beside the copy.
constexpr std::size_t kCheckedBytes = 16384;

TerminateCode code_of_write(WindowError error) {
  switch (error) {
    case WindowError::kDirection: return kAccessDenied;
    case WindowError::kBounds: return kTaggedBounds;
    case WindowError::kWraps: return kTaggedOffsetWraps;
    default: return kTaggedBadStag;
  }
}

TerminateCode code_of_read(WindowError error) {
  switch (error) {
    case WindowError::kDirection: return kAccessDenied;
    case WindowError::kBounds: return kReadBounds;
    case WindowError::kWraps: return kReadOffsetWraps;
    default: return kReadBadStag;
  }
}

}  // namespace

bool Receiver::check_controls() {
  const Controls controls = load_controls(header_.data());
  if (controls.ddp_version != kOurDdpVersion) {
    return fail(controls.tagged ? kTaggedVersion : kUntaggedVersion, "DDP version is not 1", false);
  }
  if (controls.rdmap_version != kOurRdmapVersion) return fail(kRdmapVersion, "RDMAP version is not 1", false);
  if (controls.opcode > kOpcodeMax) return fail(kUnexpectedOpcode, "unknown opcode", false);
  opcode_ = static_cast<Opcode>(controls.opcode);
  last_ = controls.last;
  if (opcode_is_tagged(opcode_) != controls.tagged) {
    return fail(kUnexpectedOpcode, "opcode and tagged bit disagree", false);
  }
  const std::size_t wanted = header_bytes(opcode_);
  const std::size_t least = wanted + (opcode_ == Opcode::kTerminate ? kTerminateWordBytes : 0);
  if (controls.ulpdu_bytes + kLengthFieldBytes < least) return fail(kBadFraming, "FPDU too short", false);
  header_wanted_ = static_cast<std::uint8_t>(wanted);
  return true;
}

bool Receiver::begin_fpdu() {
  if (opcode_ == Opcode::kWrite) return begin_write(load_tagged(header_.data()));
  if (opcode_ == Opcode::kReadResponse) return begin_read_response(load_tagged(header_.data()));

  const UntaggedHeader header = load_untagged(header_.data());
  const std::uint32_t queue = opcode_ == Opcode::kReadRequest ? kReadRequestQueue
                              : opcode_ == Opcode::kTerminate ? kTerminateQueue
                                                              : kSendQueue;
  if (header.queue != queue) return fail(kBadQueue, "wrong queue number for the opcode", true);
  if (header.message != next_message_[queue])
    return fail(kBadMessageNumber, "message number out of order", true);
  if (opcode_ == Opcode::kReadRequest) return begin_read_request(header);
  if (opcode_ == Opcode::kTerminate) return begin_terminate(header);
  return begin_send(header);
}

bool Receiver::begin_write(const TaggedHeader& header) {
  if (header.payload_bytes == 0) return true;  // ready-to-receive and nudges name no window
  const WindowView view =
      windows_.find(header.stag, header.offset, header.payload_bytes, Access::kRemoteWrite);
  if (view.error != WindowError::kNone)
    return fail(code_of_write(view.error), "write outside its window", true);
  if (!still_has({view.start, header.payload_bytes})) return false;
  target_ = view.start;
  return true;
}

bool Receiver::begin_read_response(const TaggedHeader& header) {
  if (reads_.on_wire == 0) return fail(kTaggedBadStag, "read response without a request", true);
  const PostedRead& read = posted_reads_.front();
  if (header.stag != read.sink_stag) return fail(kTaggedBadStag, "read response for another sink", true);
  if (header.offset != read_bytes_) return fail(kTaggedBounds, "read response out of order", true);
  if (header.payload_bytes > read.memory.size() - read_bytes_) {
    return fail(kTaggedBounds, "read response too long", true);
  }
  if (header.last != (read_bytes_ + header.payload_bytes == read.memory.size())) {
    return fail(kTaggedBounds, "read response ends at the wrong byte", true);
  }
  if (read_bytes_ == 0 && !still_has(read.memory)) return false;
  target_ = read.memory.data() + read_bytes_;
  return true;
}

bool Receiver::begin_send(const UntaggedHeader& header) {
  if (opcode_ == Opcode::kSendInvalidate || opcode_ == Opcode::kSendSolicitedInvalidate) {
    return fail(kCannotInvalidate, "no window may be invalidated by the peer", true);
  }
  if (!filling_) {
    if (receives_.empty()) return fail(kNoReceive, "message without a posted receive", true);
    filling_ = receives_.last();
    receives_.pop();
  }
  if (header.message_offset != message_bytes_)
    return fail(kBadMessageOffset, "message offset out of order", true);
  const std::span<std::byte> memory = filling_->memory;
  if (header.payload_bytes > memory.size() - message_bytes_) {
    return fail(kMessageTooLong, "message longer than its receive", true);
  }
  target_ = memory.data() + message_bytes_;
  return true;
}

bool Receiver::begin_read_request(const UntaggedHeader& header) {
  if (header.message_offset != 0 || !header.last)
    return fail(kBadMessageOffset, "read request in pieces", true);
  if (payload_bytes_ != 0) return fail(kMessageTooLong, "read request too long", true);
  if (inbound_reads_ >= inbound_reads_max_) return fail(kTooManyReads, "more reads than were agreed", true);
  return true;
}

bool Receiver::still_has(std::span<const std::byte> memory) {
  if (memory.size() < kCheckedBytes || is_still_mapped(memory)) return true;
  fail({}, "memory of an operation was unmapped before its event", false);
  fault_.is_ours = true;
  return false;
}

bool Receiver::begin_terminate(const UntaggedHeader& header) {
  if (header.message_offset != 0 || !header.last) return fail(kBadMessageOffset, "terminate in pieces", true);
  return true;
}

bool Receiver::finish_fpdu() {
  switch (opcode_) {
    case Opcode::kWrite: return true;
    case Opcode::kReadResponse: finish_read_response(); return true;
    case Opcode::kReadRequest: return finish_read_request();
    case Opcode::kTerminate: state_ = ReceiverState::kTerminated; return false;
    default: finish_send(); return true;
  }
}

void Receiver::finish_send() {
  message_bytes_ += payload_bytes_;
  if (!last_) return;
  const std::uint32_t length_bytes = message_bytes_;
  message_bytes_ = 0;
  ++next_message_[kSendQueue];
  const std::span<const std::byte> unplaced = std::exchange(unplaced_, {});
  const bool is_taken =
      client_.takes_message(unplaced.empty() ? filling_->memory.first(length_bytes) : unplaced);
  if (!filling_) return;  // the stream has ended, and with it its receives
  const PostedReceive filled = *filling_;
  filling_.reset();
  if (is_taken) {
    receives_.push(filled);
  } else {
    if (!unplaced.empty()) std::memcpy(filled.memory.data(), unplaced.data(), unplaced.size());
    client_.message_received(filled.token, length_bytes);
  }
}

void Receiver::finish_read_response() {
  read_bytes_ += payload_bytes_;
  if (!last_) return;
  read_bytes_ = 0;
  --reads_.on_wire;
  client_.read_completed(posted_reads_.pop_front().token);
}

bool Receiver::finish_read_request() {
  const ReadRequest request = load_read_request(header_.data());
  WindowView view;
  if (request.length_bytes > 0) {
    view =
        windows_.find(request.source_stag, request.source_offset, request.length_bytes, Access::kRemoteRead);
    if (view.error != WindowError::kNone)
      return fail(code_of_read(view.error), "read outside its window", true);
    if (!still_has({view.start, request.length_bytes})) return false;
  }
  ++next_message_[kReadRequestQueue];
  ++inbound_reads_;
  client_.read_requested(request, view.start);
  return true;
}

}  // namespace exs::iwarp
