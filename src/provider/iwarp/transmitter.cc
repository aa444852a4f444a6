// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/transmitter.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace exs::iwarp {
namespace {

constexpr std::size_t kCopyMax = 512;               // payloads up to this are copied behind their header
constexpr std::size_t kBatchBytes = 1024UL * 1024;  // what one gather() aims at
constexpr std::uint32_t kNudgeStag = 1;             // 0 fails on some hardware, empty as the write is

}  // namespace

Transmitter::~Transmitter() {
  clear();
}

void Transmitter::configure(bool crc, std::uint32_t tagged_payload_max,
                            std::uint32_t untagged_payload_max) noexcept {
  crc_on_ = crc;
  tagged_max_ = tagged_payload_max;
  untagged_max_ = untagged_payload_max;
}

void Transmitter::queue_handshake(std::span<const std::byte> frame) {
  Piece piece;
  pieces_.reserve(pieces_.count() + 1);
  const FrameArena::Piece room = arena_.allocate(frame.size());
  std::memcpy(room.start, frame.data(), frame.size());
  piece.start = room.start;
  piece.bytes = frame.size();
  piece.release = room.chunk;
  piece.ends_fpdu = true;
  piece.ends_message = true;
  piece.kind = MessageKind::kHandshake;
  push_piece(piece);
}

void Transmitter::queue_payload(Message message, std::span<const std::byte> header,
                                std::span<const std::byte> payload) {
  const bool copy = payload.size() <= kCopyMax;
  const std::size_t copied = header.size() + (copy ? payload.size() : 0);
  const bool posted = message.kind == MessageKind::kSend || message.kind == MessageKind::kWrite;
  Fifo<Message>& queue = posted ? own_ : responses_;
  queue.reserve(queue.count() + 1);
  if (header.size() + payload.size() <= kPayloadMax) {
    const std::size_t before = header_room(message.kind);
    message.frame = arena_.allocate(before + copied + trailer_bytes(before + header.size() + payload.size()));
    if (!header.empty()) std::memcpy(message.frame.start + before, header.data(), header.size());
    if (copy && !payload.empty()) {
      std::memcpy(message.frame.start + before + header.size(), payload.data(), payload.size());
    }
  }
  message.copied_bytes = static_cast<std::uint32_t>(copied);
  if (!copy) {
    message.payload = payload.data();
    message.payload_bytes = payload.size();
  }
  queue.push_back(message);
}

void Transmitter::queue_send(std::span<const std::byte> header, std::span<const std::byte> payload,
                             std::uint64_t token) {
  Message message;
  message.kind = MessageKind::kSend;
  message.token = token;
  message.number = next_send_number_++;
  ++sends_queued_;
  queue_payload(message, header, payload);
}

void Transmitter::queue_write(std::span<const std::byte> payload, std::uint32_t stag, std::uint64_t offset,
                              std::uint64_t token) {
  Message message;
  message.kind = MessageKind::kWrite;
  message.token = token;
  message.stag = stag;
  message.offset = offset;
  queue_payload(message, {}, payload);
}

void Transmitter::queue_nudge() {
  Message message;
  message.kind = MessageKind::kNudge;
  message.stag = kNudgeStag;
  queue_payload(message, {}, {});
}

void Transmitter::queue_response(const ReadRequest& request, const std::byte* source) {
  Message message;
  message.kind = MessageKind::kReadResponse;
  message.token = request.source_stag;
  message.stag = request.sink_stag;
  message.offset = request.sink_offset;
  queue_payload(message, {}, {source, request.length_bytes});
}

void Transmitter::queue_read(const ReadRequest& request, std::uint64_t token) {
  Message message;
  message.kind = MessageKind::kReadRequest;
  message.token = token;
  message.number = next_read_number_++;
  own_.reserve(own_.count() + 1);
  message.frame = arena_.allocate(kReadRequestBytes + kCrcBytes);
  message.copied_bytes = kReadRequestBytes - kUntaggedHeaderBytes;
  store_read_request(message.frame.start, message.number, request);
  own_.push_back(message);
}

bool Transmitter::has_work() const noexcept {
  if (!pieces_.empty()) return true;
  if (!open_) return false;
  if (in_message_ || !responses_.empty()) return true;
  return !own_.empty() && (own_[0].kind != MessageKind::kReadRequest || reads_.on_wire < reads_.limit);
}

std::size_t Transmitter::gather(std::span<iovec> out) {
  while (open_ && built_bytes_ < kBatchBytes && pieces_.count() + kPiecesPerFpdu <= kPiecesMax &&
         choose_next()) {
    build_fpdu();
  }
  std::size_t entries = 0;
  std::size_t skip = front_sent_;
  for (std::size_t i = 0; i < pieces_.count(); ++i) {
    const Piece& piece = pieces_[i];
    auto* start = const_cast<std::byte*>(piece.start) + skip;
    const std::size_t bytes = piece.bytes - skip;
    skip = 0;
    iovec* previous = entries > 0 ? &out[entries - 1] : nullptr;
    if (previous != nullptr && static_cast<std::byte*>(previous->iov_base) + previous->iov_len == start) {
      previous->iov_len += bytes;
    } else if (entries == out.size()) {
      break;
    } else {
      out[entries++] = {start, bytes};
    }
  }
  return entries;
}

void Transmitter::sent(std::size_t bytes) {
  built_bytes_ -= bytes;
  while (bytes > 0) {
    const Piece& front = pieces_.front();
    const std::size_t left = front.bytes - front_sent_;
    if (bytes < left) {
      front_sent_ += bytes;
      mid_fpdu_ = true;
      return;
    }
    bytes -= left;
    front_sent_ = 0;
    mid_fpdu_ = !front.ends_fpdu;
    const bool ends_message = front.ends_message;
    const MessageKind kind = front.kind;
    const std::uint64_t token = front.token;
    pop_piece();
    if (!ends_message) continue;
    if (kind == MessageKind::kSend) --sends_queued_;
    client_.message_left(kind, token);
  }
}

void Transmitter::pop_piece() {
  const Piece piece = pieces_.pop_front();
  if (piece.release != nullptr) arena_.release(piece.release);
}

void Transmitter::abandon() {
  // Drops whole FPDUs that have not begun to leave. The rest of a begun FPDU stays.
  std::size_t kept = 0;
  if (mid_fpdu_) {
    while (!pieces_[kept++].ends_fpdu) {
    }
  }
  built_bytes_ = 0;
  for (std::size_t i = 0; i < pieces_.count(); ++i) {
    Piece& piece = pieces_[i];
    if (piece.ends_message) client_.message_dropped(piece.kind, piece.token);
    piece.ends_message = false;
    if (i < kept) built_bytes_ += piece.bytes;
  }
  for (; pieces_.count() > kept; pieces_.pop_back()) {
    if (pieces_.back().release != nullptr) arena_.release(pieces_.back().release);
  }
  if (kept > 0) {
    built_bytes_ -= front_sent_;
  } else {
    front_sent_ = 0;
  }

  const auto drop = [this](const Message& message) {
    if (message.frame.chunk != nullptr) arena_.release(message.frame.chunk);
    client_.message_dropped(message.kind, message.token);
  };
  if (in_message_) drop(current_);
  in_message_ = false;
  while (!own_.empty()) drop(own_.pop_front());
  while (!responses_.empty()) drop(responses_.pop_front());
  sends_queued_ = 0;
  open_ = false;
}

void Transmitter::clear() {
  while (!pieces_.empty()) pop_piece();
  const auto release = [this](const Message& message) {
    if (message.frame.chunk != nullptr) arena_.release(message.frame.chunk);
  };
  if (in_message_) release(current_);
  in_message_ = false;
  while (!own_.empty()) release(own_.pop_front());
  while (!responses_.empty()) release(responses_.pop_front());
  front_sent_ = 0;
  built_bytes_ = 0;
  open_ = false;
}

}  // namespace exs::iwarp
