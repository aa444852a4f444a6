// A channel's traffic: takes the records of its ring to the links, and lets the links go on that could not do
// all at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/fifo.h"
#include "src/provider/shm/channel.h"
#include "src/provider/shm/port_context.h"
#include "src/provider/shm/records.h"
#include "src/provider/shm/transfer.h"

namespace exs::shm {

// How a link that was let go on stands now.
enum class Turn : std::uint8_t {
  kIdle,   // nothing is left
  kWaits,  // for the peer
  kMore,   // it could go on at once, or will soon
};

// Thread: shard.
class Exchange {
 public:
  // `context` outlives it.
  Exchange(PortContext& context, std::shared_ptr<Channel> channel);

  [[nodiscard]] Channel& channel() noexcept { return *channel_; }
  [[nodiscard]] const std::shared_ptr<Channel>& shared_channel() const noexcept { return channel_; }
  Claims claims;
  PeerMemory memory;

  // Takes in what came, lets busy links go on, and ends all when the channel is over.
  void look();
  // Whether the last look() took all that was there.
  [[nodiscard]] bool drained() const noexcept { return drained_; }
  [[nodiscard]] bool wants_time() const noexcept { return wants_time_; }
  // False: there is work.
  bool arm();
  void disarm();
  // Rings the peer if it sleeps and something was written.
  void flush() {
    wrote_ = false;
    channel_->ring_if_asleep();
  }

  // False: no room in the ring now.
  bool write(RecordKind kind, std::uint32_t peer_link, std::span<const std::byte> first,
             std::span<const std::byte> second = {}, std::uint16_t flags = 0) {
    const RecordHeader header{peer_link, static_cast<std::uint16_t>(kind), flags, 0};
    if (!channel_->out().write(header, first, second)) return no_room();
    if (!wrote_) mark_written();
    return true;
  }
  // Where the next piece goes. Empty: all are under way.
  std::span<std::byte> piece_room() {
    const std::span<std::byte> room = staging_out_.room();
    pieces_short_ = pieces_short_ || room.empty();
    return room;
  }
  void piece_filled() noexcept { staging_out_.filled(); }
  // How the peer may call memory that it can map: its region is announced. 0: it cannot.
  std::uint64_t announced_address(const LocalSlice& slice);
  // The link has more to do than it could at once: it is let go on at each look.
  void keep_busy(ShmLink& link);
  void forget(ShmLink& link) noexcept;
  // A link of ours is gone: its memory is ours again on return, and the peer is told.
  void link_closed(std::uint32_t our_link, std::uint32_t peer_link, Ending ending);

 private:
  struct OwedEnd {
    std::uint32_t peer_link = 0;
    Ending ending = Ending::kOrderly;
  };

  void take_records();
  void take(const RecordHeader& header);
  void take_piece(const RecordHeader& header);
  void nonsense(const RecordHeader& header);
  void say_owed_ends();
  void go_on();
  void end_all();
  bool no_room();
  void mark_written();

  PortContext& context_;
  const std::shared_ptr<Channel> channel_;
  StagingOut staging_out_;
  StagingIn staging_in_;
  bool wrote_ = false;         // since the last flush()
  bool ring_full_ = false;     // the last write found no room
  bool pieces_short_ = false;  // a busy link waits for a free piece
  bool wants_time_ = false;    // a busy link could go on at once
  bool drained_ = true;
  bool sleeps_ = false;  // since arm()
  std::vector<ShmLink*> busy_;
  std::vector<ShmLink*> working_;  // what go_on() works on; null: gone meanwhile
  Fifo<OwedEnd> owed_ends_;
};

}  // namespace exs::shm
