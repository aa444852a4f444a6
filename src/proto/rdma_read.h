// The receiver's RDMA READs, straight into its memory.
#pragma once

#include "src/proto/rdma_chunks.h"

namespace exs::proto {

// Thread: shard.
class RdmaReads final : public RdmaChunks {
 public:
  RdmaReads(Link& link, Counters& counters, std::uint32_t reads_out, std::uint64_t chunk_bytes)
      : RdmaChunks(PostKind::kRead, link, counters.reads_posted, reads_out, chunk_bytes) {}
};

}  // namespace exs::proto
