// The receiver's RDMA READs: cuts each transfer into chunks and keeps at most reads_out of them on the link,
// in order, across transfers.
#pragma once

#include <cstdint>
#include <optional>

#include "src/base/fifo.h"
#include "src/proto/connection.h"

namespace exs::proto {

// One read of the link. Every provider's Limits::transfer_bytes is at least this.
inline constexpr std::uint64_t kReadChunkBytes = 1 << 20;

// Thread: shard.
class RdmaReads {
 public:
  RdmaReads(Link& link, Counters& counters, std::uint32_t reads_out, std::uint64_t chunk_bytes)
      : link_(link), counters_(counters), reads_out_(reads_out), chunk_bytes_(chunk_bytes) {}

  // Queues a piece of a transfer, into.length_bytes > 0, from the start of `from`. `transfer_id`: given back
  // by landed() when the piece that `ends_transfer` is in our memory.
  void add(std::uint64_t transfer_id, const LocalSlice& into, const RemoteSlice& from, bool ends_transfer);
  // Posts chunks while the link takes them.
  Status post();
  // The oldest chunk is in our memory. The transfer's id when that was its last.
  std::optional<std::uint64_t> landed();

  [[nodiscard]] bool idle() const noexcept { return waiting_.empty() && in_flight_.empty(); }

 private:
  struct Waiting {
    std::uint64_t transfer_id = 0;
    bool ends_transfer = false;
    LocalSlice into;  // what is still to be posted
    RemoteSlice from;
  };
  struct InFlight {
    std::uint64_t transfer_id = 0;
    bool ends_transfer = false;
  };

  Link& link_;
  Counters& counters_;
  const std::uint32_t reads_out_;
  const std::uint64_t chunk_bytes_;
  Fifo<Waiting> waiting_;
  Fifo<InFlight> in_flight_;
};

}  // namespace exs::proto
