// The sender's RDMA WRITEs into the persistent receive of its peer.
#pragma once

#include "src/proto/rdma_chunks.h"

namespace exs::proto {

// Writes on the link at once. A write is done when it has left, so a few keep the link busy; how many the
// link could hold is not told by any provider.
inline constexpr std::uint32_t kWriteDepth = 16;

// Thread: shard.
class RdmaWrites final : public RdmaChunks {
 public:
  RdmaWrites(Link& link, Counters& counters, std::uint64_t chunk_bytes)
      : RdmaChunks(PostKind::kWrite, link, counters.writes_posted, kWriteDepth, chunk_bytes) {}
};

}  // namespace exs::proto
