#include "src/proto/rdma_read.h"

#include <algorithm>

#include "src/proto/token.h"

namespace exs::proto {

void RdmaReads::add(std::uint64_t transfer_id, const LocalSlice& into, const RemoteSlice& from,
                    bool ends_transfer) {
  waiting_.push_back({transfer_id, ends_transfer, into, from});
}

Status RdmaReads::post() {
  while (!waiting_.empty() && in_flight_.count() < reads_out_) {
    Waiting& next = waiting_.front();
    const std::uint64_t bytes = std::min<std::uint64_t>(next.into.length_bytes, chunk_bytes_);
    LocalSlice into = next.into;
    into.length_bytes = bytes;
    const RemoteSlice from{next.from.address, bytes, next.from.key};
    const Status status = link_.post_read(into, from, make_token(PostKind::kRead, next.transfer_id));
    if (!status.ok()) return status;
    ++counters_.reads_posted;
    next.into.address += bytes;
    next.into.length_bytes -= bytes;
    next.from.address += bytes;
    const bool ends_piece = next.into.length_bytes == 0;
    in_flight_.push_back({next.transfer_id, ends_piece && next.ends_transfer});
    if (ends_piece) waiting_.pop_front();
  }
  return {};
}

std::optional<std::uint64_t> RdmaReads::landed() {
  const InFlight oldest = in_flight_.pop_front();
  if (!oldest.ends_transfer) return std::nullopt;
  return oldest.transfer_id;
}

}  // namespace exs::proto
