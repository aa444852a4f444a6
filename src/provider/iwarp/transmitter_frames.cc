// How the transmitter turns messages into FPDUs.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstring>

#include "base/guarded_copy.h"
#include "src/provider/iwarp/crc32c.h"
#include "src/provider/iwarp/transmitter.h"

namespace exs::iwarp {

bool Transmitter::choose_next() {
  if (in_message_) return true;
  const bool own_ready =
      !own_.empty() && (own_.front().kind != MessageKind::kReadRequest || reads_.on_wire < reads_.limit);
  if (!own_ready && responses_.empty()) return false;
  last_was_response_ = !responses_.empty() && (!own_ready || !last_was_response_);
  current_ = (last_was_response_ ? responses_ : own_).pop_front();
  if (current_.kind == MessageKind::kReadRequest) ++reads_.on_wire;
  in_message_ = true;
  begun_ = true;
  return true;
}

void Transmitter::build_fpdu() {
  Message& message = current_;
  const std::uint32_t payload_max = is_tagged(message.kind) ? tagged_max_ : untagged_max_;
  const std::uint64_t total = message.copied_bytes + message.payload_bytes;
  if (message.kind == MessageKind::kReadRequest || (message.frame.chunk != nullptr && total <= payload_max)) {
    build_whole(message);
  } else {
    build_segment(message, payload_max);
  }
}

void Transmitter::build_whole(Message& message) {
  std::byte* const frame = message.frame.start;
  const std::size_t before = header_room(message.kind);
  if (message.kind != MessageKind::kReadRequest) {
    store_header(frame, message, static_cast<std::uint32_t>(message.copied_bytes + message.payload_bytes),
                 true);
  }
  const std::size_t leading = before + message.copied_bytes;
  std::uint32_t running_crc = kCrcStart;
  if (crc_on_) {
    running_crc = crc_add(running_crc, {frame, leading});
    running_crc = crc_add(running_crc, {message.payload, message.payload_bytes});
  }
  const std::size_t covered = leading + message.payload_bytes;
  store_trailer(frame + leading, covered, running_crc);

  pieces_.reserve(pieces_.count() + (message.payload_bytes == 0 ? 1 : 3));
  Piece last;
  last.release = message.frame.chunk;
  message.frame = {};
  if (message.payload_bytes == 0) {
    last.start = frame;
    last.bytes = leading + trailer_bytes(covered);
  } else {
    push_piece({.start = frame, .bytes = leading});
    push_piece({.start = message.payload, .bytes = static_cast<std::size_t>(message.payload_bytes)});
    last.start = frame + leading;
    last.bytes = trailer_bytes(covered);
  }
  end_message(message, last);
}

void Transmitter::build_segment(Message& message, std::uint32_t payload_max) {
  const std::uint64_t total = message.copied_bytes + message.payload_bytes;
  const auto segment = static_cast<std::uint32_t>(std::min<std::uint64_t>(payload_max, total - message.done));
  const bool last = message.done + segment == total;
  const std::size_t before = header_room(message.kind);
  const std::size_t covered = before + segment;
  pieces_.reserve(pieces_.count() + kPiecesPerFpdu);
  const FrameArena::Piece room = arena_.allocate(before + trailer_bytes(covered));
  store_header(room.start, message, segment, last);
  push_piece({.start = room.start, .bytes = before});
  std::uint32_t running_crc = crc_on_ ? crc_add(kCrcStart, {room.start, before}) : kCrcStart;

  std::uint64_t from = message.done;
  std::size_t left = segment;
  if (from < message.copied_bytes) {
    const std::size_t bytes = std::min<std::size_t>(left, message.copied_bytes - from);
    const std::byte* start = message.frame.start + before + from;
    if (crc_on_) running_crc = crc_add(running_crc, {start, bytes});
    push_piece({.start = start, .bytes = bytes});
    from += bytes;
    left -= bytes;
  }
  if (left > 0) {
    const std::byte* start = message.payload + (from - message.copied_bytes);
    if (crc_on_) running_crc = crc_add(running_crc, {start, left});
    push_piece({.start = start, .bytes = left});
  }
  store_trailer(room.start + before, covered, running_crc);
  message.done += segment;

  Piece trailer;
  trailer.start = room.start + before;
  trailer.bytes = trailer_bytes(covered);
  trailer.release = room.chunk;
  if (last) {
    end_message(message, trailer);
  } else {
    trailer.ends_fpdu = true;
    push_piece(trailer);
  }
}

void Transmitter::end_message(Message& message, Piece last_piece) {
  last_piece.ends_fpdu = true;
  last_piece.ends_message = true;
  last_piece.kind = message.kind;
  last_piece.token = message.token;
  if (message.frame.chunk != nullptr) {
    // The copied part of a message in several FPDUs is released with its last trailer, by an empty piece of
    // its own ahead of it: pieces are popped in order.
    push_piece({.start = last_piece.start, .bytes = 0, .release = message.frame.chunk});
    message.frame = {};
  }
  push_piece(last_piece);
  in_message_ = false;
}

std::size_t Transmitter::build_short(ShortFrame& frame, std::span<const std::byte> header,
                                     std::span<const std::byte> payload) const noexcept {
  std::byte* const text = frame.data() + kUntaggedHeaderBytes;
  if (!header.empty()) std::memcpy(text, header.data(), header.size());
  if (!payload.empty() && !guarded_copy(text + header.size(), payload.data(), payload.size())) return 0;
  UntaggedHeader fpdu;
  fpdu.opcode = Opcode::kSend;
  fpdu.last = true;
  fpdu.queue = kSendQueue;
  fpdu.message = next_send_number_;
  fpdu.payload_bytes = static_cast<std::uint32_t>(header.size() + payload.size());
  store_untagged(frame.data(), fpdu);
  const std::size_t covered = kUntaggedHeaderBytes + fpdu.payload_bytes;
  store_trailer(frame.data() + covered, covered,
                crc_on_ ? crc_add(kCrcStart, {frame.data(), covered}) : kCrcStart);
  return covered + trailer_bytes(covered);
}

void Transmitter::short_left(std::span<const std::byte> frame, std::size_t sent) noexcept {
  ++next_send_number_;
  begun_ = true;
  if (sent == frame.size()) return;
  // may_send_short() has seen to room for it.
  const std::span<const std::byte> rest = frame.subspan(sent);
  const FrameArena::Piece room = arena_.allocate(rest.size());
  std::memcpy(room.start, rest.data(), rest.size());
  push_piece({.start = room.start,
              .bytes = rest.size(),
              .release = room.chunk,
              .ends_fpdu = true,
              .ends_message = true,
              .kind = MessageKind::kShort});
  mid_fpdu_ = true;
}

void Transmitter::push_piece(const Piece& piece) {
  built_bytes_ += piece.bytes;
  pieces_.push_back(piece);
}

void Transmitter::store_header(std::byte* to, const Message& message, std::uint32_t payload_bytes,
                               bool last) const {
  if (is_tagged(message.kind)) {
    TaggedHeader header;
    header.opcode = message.kind == MessageKind::kReadResponse ? Opcode::kReadResponse : Opcode::kWrite;
    header.last = last;
    header.stag = message.stag;
    header.offset = message.offset + message.done;
    header.payload_bytes = payload_bytes;
    store_tagged(to, header);
  } else {
    UntaggedHeader header;
    header.opcode = Opcode::kSend;
    header.last = last;
    header.queue = kSendQueue;
    header.message = message.number;
    header.message_offset = static_cast<std::uint32_t>(message.done);
    header.payload_bytes = payload_bytes;
    store_untagged(to, header);
  }
}

void Transmitter::store_trailer(std::byte* to, std::size_t covered_bytes, std::uint32_t running_crc) const {
  const std::size_t pad = pad_bytes(covered_bytes);
  std::memset(to, 0, pad + kCrcBytes);
  if (crc_on_) store_crc(to + pad, crc_add(running_crc, {to, pad}));
}

}  // namespace exs::iwarp
