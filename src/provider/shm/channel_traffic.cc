// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/channel_traffic.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/contain.h"
#include "base/room.h"
#include "src/log/log.h"
#include "src/provider/shm/link.h"
#include "src/provider/shm/region_address.h"

namespace exs::shm {
namespace {

// Then other channels are processed.
constexpr int kRecordsAtOnce = 256;
constexpr std::size_t kPendingEndsMax = 4096;

}  // namespace

ChannelTraffic::ChannelTraffic(PortContext& context, std::shared_ptr<Channel> channel)
    : claims(channel->segment()),
      memory(*channel, channel->segment(), channel->peer_segment()),
      context_(context),
      channel_(std::move(channel)),
      staging_out_(channel_->segment()),
      staging_in_(channel_->peer_segment()) {}

void ChannelTraffic::process(const bool& enough) {
  // Asked before the records are handled: what the peer wrote before it went is handled first.
  const bool over = channel_->is_over();
  process_records(enough);
  if ((!over || !drained_) && (may_go_on() || ring_full_ || pieces_short_)) continue_busy();
  if (!channel_->out().status().ok() || !staging_out_.status().ok()) {
    log(LogLevel::kWarn, "shm: process {} broke the counters of a ring: EPROTO", channel_->peer_pid());
    channel_->end(Status(EPROTO));
  }
  // All records of an ended peer are handled first. The rest of a peer that broke the rules is not.
  if (channel_->is_over() && (!over || drained_)) end_all();
}

// Messages that their links' takers take come first: mostly they are all there is.
void ChannelTraffic::take_news(const bool& enough) {
  RingReader& ring = channel_->in();
  RecordHeader header;
  while (ring.peek(header) && static_cast<RecordKind>(header.kind) == RecordKind::kMessage) {
    ShmLink* const link = channel_->links().find(header.link);
    if (link == nullptr || !link->shows(ring)) break;
    ++context_.arrivals;
    if (ring.pop()) channel_->wake_peer();
    if (enough) return;
  }
  if (has_news()) process(enough);
}

void ChannelTraffic::process_records(const bool& enough) {
  RingReader& ring = channel_->in();
  RecordHeader header;
  drained_ = false;
  for (int i = 0; i < kRecordsAtOnce; ++i) {
    if (!ring.peek(header)) {
      drained_ = true;
      break;
    }
    ++context_.arrivals;
    handle_record(header);
    if (ring.pop()) channel_->wake_peer();
    if (enough) return;
  }
  if (!drained_) return;
  if (ring.settle()) channel_->wake_peer();
  if (ring.status().ok()) return;
  if (!channel_->is_over()) {
    log(LogLevel::kWarn, "shm: process {} wrote nonsense into a ring: EPROTO", channel_->peer_pid());
  }
  channel_->end(Status(EPROTO));
}

void ChannelTraffic::handle_record(const RecordHeader& header) {
  ShmLink* const link = channel_->links().find(header.link);
  contain([&] { handle_record_of(link, header); },
          [link] {
            if (link != nullptr) link->out_of_memory();
          });
}

void ChannelTraffic::handle_record_of(ShmLink* link, const RecordHeader& header) {
  switch (static_cast<RecordKind>(header.kind)) {
    case RecordKind::kMessage:
      if (link != nullptr) link->on_message(header.length_bytes, channel_->in());
      return;
    case RecordKind::kReady:
      if (link != nullptr) link->on_peer_ready();
      return;
    case RecordKind::kEnd:
      memory.link_gone();
      if (link != nullptr) link->on_peer_end(static_cast<Ending>(header.flags));
      return;
    case RecordKind::kReadRequest: {
      ReadRequest request;
      if (!copy_body(header, channel_->in(), request) || request.claim >= TransferWords::kClaims) {
        return protocol_error(header);
      }
      if (link != nullptr) link->on_read_request(request);
      return;
    }
    case RecordKind::kReadPiece:
    case RecordKind::kWritePiece: return process_piece(link, header);
  }
  protocol_error(header);
}

// The piece is freed even where its link is gone, or goes for want of memory.
void ChannelTraffic::process_piece(ShmLink* link, const RecordHeader& header) {
  const bool is_answer = static_cast<RecordKind>(header.kind) == RecordKind::kReadPiece;
  ReadPiece answer;
  WritePiece written;
  const bool is_whole =
      is_answer ? copy_body(header, channel_->in(), answer) : copy_body(header, channel_->in(), written);
  const std::uint32_t length_bytes = is_answer ? answer.length_bytes : written.length_bytes;
  if (!is_whole || length_bytes > kPieceBytes) return protocol_error(header);
  const auto bytes = staging_in_.piece().first(length_bytes);
  if (link != nullptr) {
    contain([&] { is_answer ? link->on_read_piece(answer, bytes) : link->on_write_piece(written, bytes); },
            [link] { link->out_of_memory(); });
  }
  if (staging_in_.taken()) channel_->wake_peer_if_asleep();
}

void ChannelTraffic::protocol_error(const RecordHeader& header) {
  if (!channel_->is_over()) {
    log(LogLevel::kWarn, "shm: record of kind {} and {} bytes from process {} means nothing: EPROTO",
        header.kind, header.length_bytes, channel_->peer_pid());
  }
  channel_->end(Status(EPROTO));
}

void ChannelTraffic::end_all() {
  channel_->links().for_each([&](ShmLink& link) { link.on_channel_end(channel_->status()); });
  pending_ends_.clear();
  has_work_ = false;
}

// ---------------------------------------------------------------- what could not be done at once

bool ChannelTraffic::not_written() {
  if (!payload_is_gone()) ring_full_ = true;
  return false;
}

void ChannelTraffic::mark_written() {
  wrote_ = true;
  context_.unflushed.push_back(this);
}

void ChannelTraffic::make_room_for_link() {
  const std::size_t links = channel_->links().count() + 1;
  make_room(busy_, links);
  make_room(working_, links);
  pending_ends_.reserve(pending_ends_.count() + links);
}

void ChannelTraffic::add_busy(ShmLink& link) {
  if (!link.mark_busy()) return;
  busy_.push_back(&link);
  has_work_ = true;
}

void ChannelTraffic::remove_busy(ShmLink& link) noexcept {
  std::erase(busy_, &link);
  std::replace(working_.begin(), working_.end(), &link, static_cast<ShmLink*>(nullptr));
}

// Links that find no room in the ring queue behind those that have not tried yet.
void ChannelTraffic::continue_busy() {
  ring_full_ = false;
  pieces_short_ = false;
  has_work_ = false;
  if (!pending_ends_.empty()) send_pending_ends();
  if (busy_.empty()) return;
  working_.swap(busy_);
  std::size_t asked = 0;
  while (asked < working_.size() && !ring_full_) {
    ShmLink* const link = working_[asked++];
    if (link == nullptr) continue;
    link->unmark_busy();
    Progress progress = Progress::kIdle;
    contain([&] { progress = link->continue_work(); }, [link] { link->out_of_memory(); });
    if (progress == Progress::kMore) has_work_ = true;
    if (progress != Progress::kIdle && link->mark_busy()) busy_.push_back(link);
  }
  std::rotate(working_.begin(), working_.begin() + static_cast<std::ptrdiff_t>(asked), working_.end());
  working_.resize(working_.size() - asked);
  std::erase(working_, nullptr);
  working_.insert(working_.end(), busy_.begin(), busy_.end());
  busy_.swap(working_);
  working_.clear();
}

void ChannelTraffic::link_closed(std::uint32_t our_link, std::uint32_t peer_link, Ending ending) noexcept {
  const Status status = memory.close(our_link);
  if (status.error() == ETIMEDOUT) {
    log(LogLevel::kError,
        "shm: process {} stopped while it moved bytes of a connection that closes here: its connections end",
        channel_->peer_pid());
  }
  if (!status.ok()) channel_->end(status);
  if (channel_->is_over()) return;
  contain([&] { pending_ends_.push_back({peer_link, ending}); }, [this] { channel_->end(Status(ENOMEM)); });
  if (!channel_->is_over()) send_pending_ends();
  if (pending_ends_.count() > kPendingEndsMax) channel_->end(Status(EPROTO));
}

void ChannelTraffic::send_pending_ends() {
  while (!pending_ends_.empty()) {
    const PendingEnd& next = pending_ends_.front();
    if (!write(RecordKind::kEnd, next.peer_link, {}, {}, static_cast<std::uint16_t>(next.ending))) return;
    pending_ends_.pop_front();
  }
}

std::uint64_t ChannelTraffic::announced_address(const LocalSlice& slice) {
  std::uint64_t address = 0;
  contain([&] { address = announce(slice); }, [] {});  // there are other ways
  return address;
}

std::uint64_t ChannelTraffic::announce(const LocalSlice& slice) {
  const SharedRegion* const region = context_.region(slice.key);
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

bool ChannelTraffic::arm() {
  if (has_work_) return false;
  sleeps_ = true;
  channel_->arm();
  if (pieces_short_) staging_out_.wait(true);
  RecordHeader header;
  if (channel_->in().peek(header)) return false;
  if (ring_full_ && !channel_->out().ask_for_room()) return false;
  const bool sound = channel_->in().status().ok() && channel_->out().status().ok();
  if (!sound && !channel_->is_over()) return false;  // the next process() ends it
  return !pieces_short_ || staging_out_.room().empty();
}

void ChannelTraffic::disarm() {
  if (!sleeps_) return;
  sleeps_ = false;
  staging_out_.wait(false);
  channel_->disarm();
}

}  // namespace exs::shm
