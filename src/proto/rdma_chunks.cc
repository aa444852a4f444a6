// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/rdma_chunks.h"

#include <algorithm>

namespace exs::proto {

std::uint32_t read_depth(const Link& link, std::uint32_t agreed) {
  const std::uint64_t wanted =
      std::max<std::uint64_t>(kReadDepthNear, link.round_trip_ns() / kRoundTripNsPerRead);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, agreed));
}

void RdmaChunks::add(std::uint64_t transfer_id, const LocalSlice& ours, const RemoteSlice& theirs,
                     bool ends_transfer) {
  waiting_.push_back({transfer_id, ends_transfer, ours, theirs});
}

Status RdmaChunks::post_chunk(const LocalSlice& ours, const RemoteSlice& theirs, std::uint64_t transfer_id) {
  const std::uint64_t token = make_token(kind_, transfer_id);
  return kind_ == PostKind::kRead ? link_.post_read(ours, theirs, token)
                                  : link_.post_write(ours, theirs, token);
}

Status RdmaChunks::post() {
  while (!waiting_.empty() && in_flight_.count() < depth_) {
    Waiting& next = waiting_.front();
    const std::uint64_t bytes = std::min<std::uint64_t>(next.ours.length_bytes, chunk_bytes_);
    LocalSlice ours = next.ours;
    ours.length_bytes = bytes;
    const RemoteSlice theirs{next.theirs.address, bytes, next.theirs.key};
    if (const Status status = post_chunk(ours, theirs, next.transfer_id); !status.ok()) return status;
    ++posted_counter_;
    next_unbegun_ = next.transfer_id + 1;
    next.ours.address += bytes;
    next.ours.length_bytes -= bytes;
    next.theirs.address += bytes;
    const bool ends_piece = next.ours.length_bytes == 0;
    in_flight_.push_back({next.transfer_id, ends_piece && next.ends_transfer});
    if (ends_piece) waiting_.pop_front();
  }
  return {};
}

std::optional<std::uint64_t> RdmaChunks::on_done() {
  const InFlight oldest = in_flight_.pop_front();
  if (!oldest.ends_transfer) return std::nullopt;
  return oldest.transfer_id;
}

bool RdmaChunks::abandon(std::uint64_t transfer_id) {
  for (std::size_t left = waiting_.count(); left > 0; --left) {
    const Waiting piece = waiting_.pop_front();
    if (piece.transfer_id != transfer_id) waiting_.push_back(piece);
  }
  for (std::size_t i = in_flight_.count(); i > 0; --i) {
    InFlight& chunk = in_flight_[i - 1];
    if (chunk.transfer_id != transfer_id) continue;
    chunk.ends_transfer = true;
    return true;
  }
  return false;
}

}  // namespace exs::proto
