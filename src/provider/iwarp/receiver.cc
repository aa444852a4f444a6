// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/receiver.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/provider/iwarp/crc32c.h"

namespace exs::iwarp {
namespace {

constexpr std::size_t kBulkPayload = 16384;
constexpr std::size_t kBulkRead = 65536;

}  // namespace

void Receiver::configure(bool crc, std::uint32_t inbound_reads_max) noexcept {
  crc_on_ = crc;
  inbound_reads_max_ = inbound_reads_max;
}

bool Receiver::consume(std::span<const std::byte> bytes) {
  while (!bytes.empty() && state_ == ReceiverState::kOpen) {
    switch (stage_) {
      case Stage::kHeader:
        if (take_short(bytes)) break;
        if (!take_header(bytes)) return state_ == ReceiverState::kOpen;
        break;
      case Stage::kPayload: take_payload(bytes); break;
      case Stage::kTrailer:
        if (!take_trailer(bytes)) return state_ == ReceiverState::kOpen;
        break;
    }
  }
  return state_ == ReceiverState::kOpen;
}

bool Receiver::take_short(std::span<const std::byte>& bytes) {
  if (crc_on_ || collected_ != 0 || filling_ || receives_.empty()) return false;
  if (bytes.size() < kUntaggedHeaderBytes + kCrcBytes || !is_last_send(bytes.data())) return false;
  const UntaggedHeader header = load_untagged(bytes.data());
  const std::size_t covered = kUntaggedHeaderBytes + header.payload_bytes;
  const std::size_t fpdu_bytes = covered + trailer_bytes(covered);
  const PostedReceive receive = receives_.last();
  if (header.queue != kSendQueue || header.message != next_message_[kSendQueue] ||
      header.message_offset != 0 || fpdu_bytes > bytes.size() || header.payload_bytes > receive.memory.size())
    return false;
  opcode_ = Opcode::kSend;
  last_ = true;
  payload_bytes_ = header.payload_bytes;
  ++next_message_[kSendQueue];
  ++fpdus_;
  const auto message = bytes.subspan(kUntaggedHeaderBytes, header.payload_bytes);
  bytes = bytes.subspan(fpdu_bytes);
  if (client_.takes_message(message) || state_ != ReceiverState::kOpen) return true;
  receives_.pop();
  if (!message.empty()) std::memcpy(receive.memory.data(), message.data(), message.size());
  client_.message_received(receive.token, header.payload_bytes);
  return true;
}

bool Receiver::collect(std::span<std::byte> into, std::size_t wanted, std::span<const std::byte>& bytes) {
  const std::size_t taken = std::min(wanted - collected_, bytes.size());
  std::memcpy(into.data() + collected_, bytes.data(), taken);
  collected_ = static_cast<std::uint8_t>(collected_ + taken);
  bytes = bytes.subspan(taken);
  return collected_ == wanted;
}

bool Receiver::take_header(std::span<const std::byte>& bytes) {
  if (header_wanted_ == 0) {
    if (!collect(header_, kControlBytes, bytes)) return false;
    if (!check_controls()) return false;
  }
  if (!collect(header_, header_wanted_, bytes)) return false;
  if (crc_on_) running_crc_ = crc_add(kCrcStart, {header_.data(), header_wanted_});
  payload_bytes_ = static_cast<std::uint32_t>(load_controls(header_.data()).ulpdu_bytes + kLengthFieldBytes -
                                              header_wanted_);
  payload_left_ = payload_bytes_;
  target_ = nullptr;
  if (!begin_fpdu()) return false;
  collected_ = 0;
  stage_ = payload_left_ > 0 ? Stage::kPayload : Stage::kTrailer;
  return true;
}

void Receiver::take_payload(std::span<const std::byte>& bytes) {
  const std::size_t taken = std::min<std::size_t>(payload_left_, bytes.size());
  if (is_whole_message(bytes)) {
    unplaced_ = bytes.first(taken);
  } else if (target_ != nullptr) {
    std::memcpy(target_, bytes.data(), taken);
  } else if (const std::size_t done = payload_bytes_ - payload_left_;
             opcode_ == Opcode::kTerminate && done < kTerminateWordBytes) {
    std::memcpy(terminate_word_.data() + done, bytes.data(), std::min(taken, kTerminateWordBytes - done));
  }
  if (crc_on_) running_crc_ = crc_add(running_crc_, bytes.first(taken));
  bytes = bytes.subspan(taken);
  advance_payload(taken);
}

// True only with the trailer, so that the message is finished before `bytes` are gone.
bool Receiver::is_whole_message(std::span<const std::byte> bytes) const noexcept {
  const bool is_send = opcode_ == Opcode::kSend || opcode_ == Opcode::kSendSolicited;
  return is_send && last_ && message_bytes_ == 0 && payload_left_ == payload_bytes_ &&
         bytes.size() >= payload_bytes_ + trailer_bytes(header_wanted_ + payload_bytes_);
}

void Receiver::advance_payload(std::size_t bytes) {
  if (target_ != nullptr) target_ += bytes;
  payload_left_ -= static_cast<std::uint32_t>(bytes);
  if (payload_left_ == 0) stage_ = Stage::kTrailer;
}

bool Receiver::take_trailer(std::span<const std::byte>& bytes) {
  const std::size_t pad = pad_bytes(header_wanted_ + payload_bytes_);
  if (!collect(trailer_, pad + kCrcBytes, bytes)) return false;
  if (crc_on_ && !crc_matches(trailer_.data() + pad, crc_add(running_crc_, {trailer_.data(), pad}))) {
    return fail(kBadCrc, "CRC mismatch", false);
  }
  if (!finish_fpdu()) return false;
  ++fpdus_;
  stage_ = Stage::kHeader;
  collected_ = 0;
  header_wanted_ = 0;
  return true;
}

std::span<std::byte> Receiver::payload_target() const noexcept {
  if (state_ != ReceiverState::kOpen || stage_ != Stage::kPayload || target_ == nullptr) return {};
  return {target_, payload_left_};
}

void Receiver::placed(std::size_t bytes) {
  if (crc_on_) running_crc_ = crc_add(running_crc_, {target_, bytes});
  advance_payload(bytes);
}

std::size_t Receiver::bytes_between_payloads() const noexcept {
  return trailer_bytes(header_wanted_ + payload_bytes_) + kTaggedHeaderBytes;
}

bool Receiver::bulk_expected() const noexcept {
  if (!last_ && payload_bytes_ >= kBulkPayload) return true;
  return reads_.on_wire > 0 && !posted_reads_.empty() &&
         posted_reads_[0].memory.size() - read_bytes_ >= kBulkRead;
}

bool Receiver::writes_into(std::uint32_t stag) const noexcept {
  return state_ == ReceiverState::kOpen && stage_ == Stage::kPayload && opcode_ == Opcode::kWrite &&
         load_tagged(header_.data()).stag == stag;
}

void Receiver::stop() noexcept {
  if (state_ == ReceiverState::kOpen) state_ = ReceiverState::kTerminated;
  target_ = nullptr;
  drop_receives();
  posted_reads_.clear();
}

bool Receiver::fail(TerminateCode code, const char* what, bool quote_header) {
  state_ = ReceiverState::kFaulted;
  fault_ = {code, what, quote_header ? header_wanted_ : std::size_t{0}, false};
  target_ = nullptr;
  return false;
}

}  // namespace exs::iwarp
