// A channel's traffic: hands the records of its ring to the links, and lets the links continue that could not
// do all at once.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/fifo.h"
#include "src/provider/shm/channel.h"
#include "src/provider/shm/claims.h"
#include "src/provider/shm/peer_memory.h"
#include "src/provider/shm/port_context.h"
#include "src/provider/shm/read_choice.h"
#include "src/provider/shm/records.h"
#include "src/provider/shm/staging.h"

namespace exs::shm {

// How far a link came that was let continue.
enum class Progress : std::uint8_t {
  kIdle,     // nothing is left
  kBlocked,  // it waits for the peer
  kMore,     // it could go on at once, or will soon
};

// Thread: shard.
class ChannelTraffic {
 public:
  // `context` outlives it.
  ChannelTraffic(PortContext& context, std::shared_ptr<Channel> channel);

  [[nodiscard]] Channel& channel() noexcept { return *channel_; }
  [[nodiscard]] const std::shared_ptr<Channel>& shared_channel() const noexcept { return channel_; }
  Claims claims;
  PeerMemory memory;
  ReadChoice read_choice;

  // process() would find something to do.
  [[nodiscard]] bool has_news() const noexcept {
    return channel_->in().has_next() || may_go_on() || channel_->is_over();
  }
  // Handles what arrived, lets busy links continue, and ends all when the channel is over. Stops at records behind the one with which it
  // is enough.
  void process(const bool& enough = kNever);
  void take_news(const bool& enough);
  // The last process() handled all records.
  [[nodiscard]] bool drained() const noexcept { return drained_; }
  [[nodiscard]] bool has_work() const noexcept { return has_work_; }
  // False: there is work.
  bool arm();
  void disarm();
  // Rings the peer if it sleeps and something was written.
  void flush() {
    wrote_ = false;
    channel_->wake_peer_if_asleep();
  }

  // False: no room in the ring now, or payload_is_gone(): `second`, which may be the program's, is not there.
  bool write(RecordKind kind, std::uint32_t peer_link, std::span<const std::byte> first,
             std::span<const std::byte> second = {}, std::uint16_t flags = 0) {
    const RecordHeader header{peer_link, static_cast<std::uint16_t>(kind), flags, 0};
    if (!channel_->out().write(header, first, second)) return not_written();
    if (!wrote_) mark_written();
    return true;
  }
  // Likewise, and rings the peer if it sleeps.
  bool write_and_ring(RecordKind kind, std::uint32_t peer_link, std::span<const std::byte> first,
                      std::span<const std::byte> second) {
    const RecordHeader header{peer_link, static_cast<std::uint16_t>(kind), 0, 0};
    if (!channel_->out().write(header, first, second)) return not_written();
    channel_->wake_peer_if_asleep();
    return true;
  }
  [[nodiscard]] bool payload_is_gone() const noexcept { return channel_->out().source_is_gone(); }
  // Room for the next piece. Empty: all pieces are in use.
  std::span<std::byte> piece_room() {
    const std::span<std::byte> room = staging_out_.room();
    pieces_short_ = pieces_short_ || room.empty();
    return room;
  }
  void piece_filled() noexcept {
    staging_out_.filled();
    ++context_.arrivals;  // the peer has taken an earlier one
  }
  // How the peer may call memory that it can map: its region is announced. 0: it cannot.
  std::uint64_t announced_address(const LocalSlice& slice);
  // The link has more to do than it could at once: each process() lets it continue.
  void add_busy(ShmLink& link);
  void remove_busy(ShmLink& link) noexcept;
  // Reserves memory, so that a link on the channel needs none to become busy or to end.
  void make_room_for_link();
  // A link of ours has gone. On return its memory is ours again, and the peer has been notified.
  void link_closed(std::uint32_t our_link, std::uint32_t peer_link, Ending ending) noexcept;

 private:
  static constexpr bool kNever = false;
  struct PendingEnd {
    std::uint32_t peer_link = 0;
    Ending ending = Ending::kOrderly;
  };

  // What could not be done at once is still to be done.
  [[nodiscard]] bool may_go_on() const noexcept {
    return !busy_.empty() || !pending_ends_.empty() || has_work_;
  }
  void process_records(const bool& enough);
  void handle_record(const RecordHeader& header);
  void handle_record_of(ShmLink* link, const RecordHeader& header);
  void process_piece(ShmLink* link, const RecordHeader& header);
  [[nodiscard]] std::uint64_t announce(const LocalSlice& slice);
  void protocol_error(const RecordHeader& header);
  void send_pending_ends();
  void continue_busy();
  void end_all();
  bool not_written();
  void mark_written();

  PortContext& context_;
  const std::shared_ptr<Channel> channel_;
  StagingOut staging_out_;
  StagingIn staging_in_;
  bool wrote_ = false;         // since the last flush()
  bool ring_full_ = false;     // the last write found no room
  bool pieces_short_ = false;  // a busy link waits for a free piece
  bool has_work_ = false;      // a busy link could go on at once
  bool drained_ = true;
  bool sleeps_ = false;  // since arm()
  std::vector<ShmLink*> busy_;
  std::vector<ShmLink*> working_;  // what continue_busy() works on; null: gone meanwhile
  Fifo<PendingEnd> pending_ends_;
};

}  // namespace exs::shm
