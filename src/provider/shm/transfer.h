// READ and WRITE between the two processes of a channel: what their links share for it.
//
// Three ways, and no byte of a window that its owner did not open for it:
//  - memory of the peer that is mapped here (exs_alloc): a plain copy;
//  - process_vm_readv and writev: the peer need not run;
//  - pieces: the owner of the bytes copies them into its staging area, the other end out of it, both at once.
//
// Pieces are taken in the order of the records that tell of them, so the staging area is a ring of its own:
// one counter says how many have been taken, and no index crosses over.
//
// The first two ways pass the owner of the memory by, who may close its link at any time and get its memory
// back. So who accesses says so first (`accessing`), then looks whether links closed that it does not know of
// yet (`closings`); who closes counts first, then waits for an access to its link to end. Each access is
// short.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/status.h"
#include "src/provider/shm/layout.h"

namespace exs::shm {

class Channel;

// The words of one segment, a page that layout.h leaves to transfers. Zero at first.
struct TransferWords {
  static constexpr std::size_t kClaims = 64;

  // Written by the segment's owner.
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> accessing;  // number of the peer's link; 0: none
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> closings;   // links of its own that are gone
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> waits;      // it sleeps until pieces are taken
  // Written by the peer: how many pieces of this segment's staging area it has taken out.
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> pieces_taken;
  // Written by both: who gets to move the bytes of a read that the owner asked for.
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> claims[kClaims];
};
static_assert(sizeof(TransferWords) <= kTransferWords * kCacheLineBytes);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

TransferWords& transfer_words_of(std::span<std::byte> segment);

// The longest access in one go, of whatever way: others of the shard, and who closes a link, wait no longer.
inline constexpr std::size_t kAccessBytes = std::size_t{1} << 20;
inline constexpr std::size_t kPieceBytes = kStagingPieceBytes;

// Our staging area, filled here and taken out by the peer. Thread: shard.
class StagingOut {
 public:
  explicit StagingOut(std::span<std::byte> segment) : segment_(segment), words_(transfer_words_of(segment)) {}

  // Empty: none is free. The same until filled().
  std::span<std::byte> room();
  // The record that tells of it has been written.
  void filled() noexcept { ++filled_; }
  // Whether we sleep for want of pieces: from its return on the peer rings when it takes one. room() must be
  // looked at once more.
  void wait(bool sleeps) noexcept { words_.waits.store(sleeps ? 1 : 0, std::memory_order_seq_cst); }
  // EPROTO: the peer took what was not there.
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  const std::span<std::byte> segment_;
  TransferWords& words_;
  std::uint64_t filled_ = 0;
  std::uint64_t taken_ = 0;  // as last seen
  Status status_;
};

// The peer's. Thread: shard.
class StagingIn {
 public:
  explicit StagingIn(std::span<std::byte> peer_segment)
      : segment_(peer_segment), words_(transfer_words_of(peer_segment)) {}

  // The piece that the record at hand tells of.
  [[nodiscard]] std::span<const std::byte> piece() const { return staging(segment_, taken_); }
  // True: the peer may sleep for want of pieces. It says so, then looks at the counter; here it is the other
  // way round, all in one order.
  [[nodiscard]] bool taken() noexcept {
    words_.pieces_taken.store(++taken_, std::memory_order_seq_cst);
    return words_.waits.load(std::memory_order_seq_cst) != 0;
  }

 private:
  const std::span<std::byte> segment_;
  TransferWords& words_;
  std::uint64_t taken_ = 0;
};

// Our reads that are, or may be, carried out by the peer. A claim word holds a draw and whose turn it is; the
// draw changes with every read, so what is late for one read cannot claim the next.
// Thread: shard.
class Claims {
 public:
  explicit Claims(std::span<std::byte> segment) : words_(transfer_words_of(segment)) {}

  struct Ticket {
    std::uint32_t slot = 0;
    std::uint32_t draw = 0;
  };
  // False: all are in use.
  bool open(Ticket& ticket);
  // Nothing may follow any more for this ticket.
  void close(Ticket ticket);
  [[nodiscard]] bool has_begun(Ticket ticket) const;
  // False: the peer has begun.
  bool take_back(Ticket ticket);

  // The peer's turn at a ticket of its own. False: taken back, or never given.
  static bool begin(std::span<std::byte> peer_segment, Ticket ticket);

 private:
  static constexpr std::uint32_t kAsked = 1;
  static constexpr std::uint32_t kBegun = 2;
  static std::uint32_t word(std::uint32_t draw, std::uint32_t state) { return draw << 2 | state; }

  TransferWords& words_;
  std::uint64_t in_use_ = 0;  // a bit each
  std::array<std::uint32_t, TransferWords::kClaims> draws_{};
};

// Straight to the peer's memory. Thread: shard.
class PeerMemory {
 public:
  PeerMemory(Channel& channel, std::span<std::byte> segment, std::span<std::byte> peer_segment);

  enum class Way : std::uint8_t { kMapped, kProcess, kNone };
  // How `length_bytes` from `address` can be had. kNone: by pieces alone.
  [[nodiscard]] Way way(std::uint64_t address, std::uint64_t length_bytes);
  struct Moved {
    std::size_t bytes = 0;
    // EAGAIN: a link of the peer has closed, take in what it wrote first. EOPNOTSUPP: this way is no longer
    // open. EPROTO: no such memory. ECONNRESET: no such process.
    Status status;
  };
  // At most kAccessBytes of it. `link`: the peer's number of the link whose window it is.
  Moved read(std::uint32_t link, std::span<std::byte> into, std::uint64_t address);
  Moved write(std::uint32_t link, std::span<const std::byte> from, std::uint64_t address);

  // The peer said in its ring that a link of its own is gone.
  void link_gone() noexcept { ++closings_known_; }
  // A link of ours is gone: from its return the peer does not access its memory. ETIMEDOUT: the peer stopped
  // in the middle of an access.
  Status close(std::uint32_t our_link);

 private:
  class Access;
  Moved move(std::uint32_t link, std::byte* ours, std::size_t length_bytes, std::uint64_t address,
             bool to_peer);
  Moved move_mapped(std::byte* ours, std::size_t length_bytes, std::uint64_t address, bool to_peer);
  Moved move_by_process(std::byte* ours, std::size_t length_bytes, std::uint64_t address, bool to_peer);
  [[nodiscard]] bool process_lives();

  Channel& channel_;
  TransferWords& ours_;
  TransferWords& theirs_;
  bool reads_memory_;
  std::uint64_t closings_known_ = 0;
  std::uint64_t looked_ns_ = 0;  // at the process
};

// An address on the wire: of a region that its owner has announced, or plain. 0: cannot be told so.
inline constexpr std::uint64_t kRegionBit = std::uint64_t{1} << 63;
inline constexpr unsigned kRegionShift = 40;
constexpr std::uint64_t region_address(std::uint32_t key, std::uint64_t offset, std::uint64_t length_bytes) {
  constexpr std::uint64_t kOffsetEnd = std::uint64_t{1} << kRegionShift;
  constexpr std::uint32_t kKeyEnd = 1U << (63 - kRegionShift);
  if (key >= kKeyEnd || offset >= kOffsetEnd || length_bytes > kOffsetEnd - offset) return 0;
  return kRegionBit | std::uint64_t{key} << kRegionShift | offset;
}
constexpr std::uint32_t region_of(std::uint64_t address) {
  return static_cast<std::uint32_t>((address & ~kRegionBit) >> kRegionShift);
}
constexpr std::uint64_t offset_of(std::uint64_t address) {
  return address & ((std::uint64_t{1} << kRegionShift) - 1);
}

}  // namespace exs::shm
