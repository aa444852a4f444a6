#include "src/provider/shm/exchange.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "src/base/log.h"
#include "src/provider/shm/link.h"

namespace exs::shm {
namespace {

// Then others get their turn.
constexpr int kRecordsPerLook = 256;
constexpr std::size_t kOwedEndsMax = 4096;

}  // namespace

Exchange::Exchange(PortContext& context, std::shared_ptr<Channel> channel)
    : claims(channel->segment()),
      memory(*channel, channel->segment(), channel->peer_segment()),
      context_(context),
      channel_(std::move(channel)),
      staging_out_(channel_->segment()),
      staging_in_(channel_->peer_segment()) {}

void Exchange::look() {
  // Asked before the records are taken: what the peer wrote before it went is taken first.
  const bool over = channel_->is_over();
  take_records();
  if (!over || !drained_) go_on();
  if (!channel_->out().status().ok() || !staging_out_.status().ok()) {
    log(LogLevel::kWarn, "shm: process %d broke the counters of a ring: EPROTO",
        static_cast<int>(channel_->peer_pid()));
    channel_->end(Status(EPROTO));
  }
  // A peer that went is heard to the end; who broke the rules is not.
  if (channel_->is_over() && (!over || drained_)) end_all();
}

void Exchange::take_records() {
  RingReader& ring = channel_->in();
  RecordHeader header;
  drained_ = false;
  for (int i = 0; i < kRecordsPerLook; ++i) {
    if (!ring.peek(header)) {
      drained_ = true;
      break;
    }
    ++context_.arrivals;
    take(header);
    if (ring.pop()) channel_->ring();
  }
  if (!drained_) return;
  if (ring.settle()) channel_->ring();
  if (ring.status().ok()) return;
  if (!channel_->is_over()) {
    log(LogLevel::kWarn, "shm: process %d wrote nonsense into a ring: EPROTO",
        static_cast<int>(channel_->peer_pid()));
  }
  channel_->end(Status(EPROTO));
}

void Exchange::take(const RecordHeader& header) {
  ShmLink* const link = channel_->find(header.link);
  switch (static_cast<RecordKind>(header.kind)) {
    case RecordKind::kMessage:
      if (link != nullptr) link->take_message(header.length_bytes, channel_->in());
      return;
    case RecordKind::kReady:
      if (link != nullptr) link->peer_is_there();
      return;
    case RecordKind::kEnd:
      memory.link_gone();
      if (link != nullptr) link->peer_ended(static_cast<Ending>(header.flags));
      return;
    case RecordKind::kReadRequest: {
      ReadRequest request;
      if (!take_body(header, channel_->in(), request) || request.slot >= TransferWords::kClaims) {
        return nonsense(header);
      }
      if (link != nullptr) link->take_read_request(request);
      return;
    }
    case RecordKind::kReadPiece:
    case RecordKind::kWritePiece: return take_piece(header);
  }
  nonsense(header);
}

// The piece is done with also where its link is gone.
void Exchange::take_piece(const RecordHeader& header) {
  ShmLink* const link = channel_->find(header.link);
  if (static_cast<RecordKind>(header.kind) == RecordKind::kReadPiece) {
    ReadPiece piece;
    if (!take_body(header, channel_->in(), piece) || piece.length_bytes > kPieceBytes)
      return nonsense(header);
    if (link != nullptr) link->take_read_piece(piece, staging_in_.piece().first(piece.length_bytes));
  } else {
    WritePiece piece;
    if (!take_body(header, channel_->in(), piece) || piece.length_bytes > kPieceBytes)
      return nonsense(header);
    if (link != nullptr) link->take_write_piece(piece, staging_in_.piece().first(piece.length_bytes));
  }
  if (staging_in_.taken()) channel_->ring_if_asleep();
}

void Exchange::nonsense(const RecordHeader& header) {
  if (!channel_->is_over()) {
    log(LogLevel::kWarn, "shm: record of kind %u and %u bytes from process %d means nothing: EPROTO",
        static_cast<unsigned>(header.kind), header.length_bytes, static_cast<int>(channel_->peer_pid()));
  }
  channel_->end(Status(EPROTO));
}

void Exchange::end_all() {
  channel_->for_each_link([&](ShmLink& link) { link.channel_ended(channel_->status()); });
  owed_ends_.clear();
  wants_time_ = false;
}

// ---------------------------------------------------------------- what could not be done at once

bool Exchange::no_room() {
  ring_full_ = true;
  return false;
}

void Exchange::mark_written() {
  wrote_ = true;
  context_.wrote.push_back(this);
}

void Exchange::keep_busy(ShmLink& link) {
  if (!link.mark_busy()) return;
  busy_.push_back(&link);
  wants_time_ = true;
}

void Exchange::forget(ShmLink& link) noexcept {
  std::erase(busy_, &link);
  std::replace(working_.begin(), working_.end(), &link, static_cast<ShmLink*>(nullptr));
}

// Links that are short of the ring wait behind those that have not been asked yet.
void Exchange::go_on() {
  ring_full_ = false;
  pieces_short_ = false;
  wants_time_ = false;
  if (!owed_ends_.empty()) say_owed_ends();
  if (busy_.empty()) return;
  working_.swap(busy_);
  std::size_t asked = 0;
  while (asked < working_.size() && !ring_full_) {
    ShmLink* const link = working_[asked++];
    if (link == nullptr) continue;
    link->unmark_busy();
    const Turn turn = link->go_on();
    if (turn == Turn::kMore) wants_time_ = true;
    if (turn != Turn::kIdle && link->mark_busy()) busy_.push_back(link);
  }
  std::rotate(working_.begin(), working_.begin() + static_cast<std::ptrdiff_t>(asked), working_.end());
  working_.resize(working_.size() - asked);
  std::erase(working_, nullptr);
  working_.insert(working_.end(), busy_.begin(), busy_.end());
  busy_.swap(working_);
  working_.clear();
}

void Exchange::link_closed(std::uint32_t our_link, std::uint32_t peer_link, Ending ending) {
  if (const Status status = memory.close(our_link); status.error() == ETIMEDOUT) {
    log(LogLevel::kError,
        "shm: process %d stopped while it moved bytes of a connection that closes here: its connections end",
        static_cast<int>(channel_->peer_pid()));
    channel_->end(Status(EPROTO));
  } else if (!status.ok()) {
    channel_->end(status);
  }
  if (channel_->is_over()) return;
  owed_ends_.push_back({peer_link, ending});
  say_owed_ends();
  if (owed_ends_.count() > kOwedEndsMax) channel_->end(Status(EPROTO));
}

void Exchange::say_owed_ends() {
  while (!owed_ends_.empty()) {
    const OwedEnd& owed = owed_ends_.front();
    if (!write(RecordKind::kEnd, owed.peer_link, {}, {}, static_cast<std::uint16_t>(owed.ending))) return;
    owed_ends_.pop_front();
  }
}

std::uint64_t Exchange::announced_address(const LocalSlice& slice) {
  const Region* const region = context_.region(slice.key);
  if (region == nullptr) return 0;
  const std::span<std::byte> whole = region->memory;
  const auto offset = static_cast<std::uint64_t>(slice.address - whole.data());
  if (slice.address < whole.data() || offset > whole.size() || slice.length_bytes > whole.size() - offset) {
    return 0;
  }
  const std::uint64_t address = region_address(slice.key.value, offset, slice.length_bytes);
  if (address == 0) return 0;
  return channel_->announce(slice.key, region->shared.get(), whole.size()).ok() ? address : 0;
}

// ---------------------------------------------------------------- sleep

bool Exchange::arm() {
  if (wants_time_) return false;
  sleeps_ = true;
  channel_->arm();
  if (pieces_short_) staging_out_.wait(true);
  RecordHeader header;
  if (channel_->in().peek(header)) return false;
  if (ring_full_ && !channel_->out().ask_for_room()) return false;
  const bool sound = channel_->in().status().ok() && channel_->out().status().ok();
  if (!sound && !channel_->is_over()) return false;  // the next look ends it
  return !pieces_short_ || staging_out_.room().empty();
}

void Exchange::disarm() {
  if (!sleeps_) return;
  sleeps_ = false;
  staging_out_.wait(false);
  channel_->disarm();
}

}  // namespace exs::shm
