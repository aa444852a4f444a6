// RDMA READs or WRITEs of a connection: each transfer is cut into chunks, of which at most `depth` are on the
// link, in order, across transfers.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "base/fifo.h"
#include "src/proto/operation.h"
#include "src/proto/token.h"

namespace exs::proto {

// The size of one read or write of the link, which every provider can carry.
inline constexpr std::uint64_t kReadChunkBytes = 1 << 20;

// Thread: shard.
class RdmaChunks {
 public:
  // Transfers are added in the order of their ids. Queues a piece of one, ours.length_bytes > 0, from or to
  // the start of `theirs`. `transfer_id`: given back by on_done() when the piece that `ends_transfer` is
  // done.
  void add(std::uint64_t transfer_id, const LocalSlice& ours, const RemoteSlice& theirs, bool ends_transfer);
  // Posts chunks while the link takes them.
  Status post();
  // The oldest chunk is done. The transfer's id when that was its last.
  std::optional<std::uint64_t> on_done();

  // A chunk of this transfer has been given to the link.
  [[nodiscard]] bool has_begun(std::uint64_t transfer_id) const { return transfer_id < next_unbegun_; }
  // Forgets the parts of this transfer that are not on the link yet. False: no part is in progress. Else
  // on_done() still reports its end.
  bool abandon(std::uint64_t transfer_id);

  [[nodiscard]] bool idle() const noexcept { return waiting_.empty() && in_flight_.empty(); }

 protected:
  RdmaChunks(PostKind kind, Link& link, std::uint64_t& posted_counter, std::uint32_t depth,
             std::uint64_t chunk_bytes)
      : kind_(kind), depth_(depth), chunk_bytes_(chunk_bytes), link_(link), posted_counter_(posted_counter) {}
  ~RdmaChunks() = default;

  [[nodiscard]] Link& link() noexcept { return link_; }
  void count_posted() noexcept { ++posted_counter_; }

 private:
  struct Waiting {
    std::uint64_t transfer_id = 0;
    bool ends_transfer = false;
    LocalSlice ours;  // the rest to post
    RemoteSlice theirs;
  };
  struct InFlight {
    std::uint64_t transfer_id = 0;
    bool ends_transfer = false;
  };

  Status post_chunk(const LocalSlice& ours, const RemoteSlice& theirs, std::uint64_t transfer_id);

  const PostKind kind_;
  const std::uint32_t depth_;
  const std::uint64_t chunk_bytes_;
  Link& link_;
  std::uint64_t& posted_counter_;
  Fifo<Waiting> waiting_;
  Fifo<InFlight> in_flight_;
  std::uint64_t next_unbegun_ = 0;  // transfer id
};

// READs on the link at once: a few keep a near peer busy, and more would only leave the cache. Over a distance there is one more for each
// of these moments of the round trip, as far as both ends have agreed.
inline constexpr std::uint32_t kReadDepthNear = 16;
inline constexpr std::uint64_t kRoundTripNsPerRead = 10'000;
[[nodiscard]] std::uint32_t read_depth(const Link& link, std::uint32_t agreed);

// The receiver's RDMA READs, straight into its memory. Thread: shard.
class RdmaReads final : public RdmaChunks {
 public:
  RdmaReads(Link& link, Counters& counters, std::uint32_t reads_out, std::uint64_t chunk_bytes)
      : RdmaChunks(PostKind::kRead, link, counters.reads_posted, read_depth(link, reads_out), chunk_bytes) {}

  // Reads the start of `theirs` where nothing was added before it and the link can at once. False: nothing has changed but
  // perhaps the bytes.
  bool read_now(const LocalSlice& ours, const RemoteSlice& theirs) {
    if (!idle() || !link().read_now(ours, theirs).ok()) return false;
    count_posted();
    return true;
  }
};

// Writes on the link at once. A write is done when it has left, so a few keep the link busy. No provider
// reports how many its link can hold.
inline constexpr std::uint32_t kWriteDepth = 16;

// The sender's RDMA WRITEs into the persistent receive of its peer. Thread: shard.
class RdmaWrites final : public RdmaChunks {
 public:
  RdmaWrites(Link& link, Counters& counters, std::uint64_t chunk_bytes)
      : RdmaChunks(PostKind::kWrite, link, counters.writes_posted, kWriteDepth, chunk_bytes) {}
};

}  // namespace exs::proto
