// Memory of a peer for replies: which request has which slot, and until when.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>

#include "service/node/peer.h"

namespace exs::svc {

Status Peer::trust(bool trusts, std::size_t return_max_bytes) {
  if (arena_ != nullptr) return Status(EBUSY);
  trusts_ = trusts;
  return_max_bytes_ = return_max_bytes;
  return {};
}

Result<void*> Peer::alloc_return(std::size_t length_bytes, const std::shared_ptr<Mutex>& node_lock) {
  if (!trusts_) return failure(EPERM);
  if (length_bytes > return_max_bytes_) return failure(ENOBUFS);
  if (arena_ == nullptr) arena_ = ReturnArena::make(return_max_bytes_, node_lock);
  if (arena_ == nullptr) return failure(ENOMEM);
  want_lane();
  void* const slot = arena_->take(length_bytes);
  if (slot == nullptr) return failure(ENOBUFS);
  return slot;
}

// ---------------------------------------------------------------- slots

// Tells the service which places for replies are slots; long items reach the others by the bulk.
Status Peer::lend_slots(Transfer::Pieces& returns, std::vector<ReturnSlot>& named) {
  if (arena_ == nullptr) return {};
  for (std::size_t i = 0; i < returns.size(); ++i) {
    exs_iovec_t& piece = returns[i];
    if (!arena_->contains(piece.iov_base)) continue;
    if (const Status lent = arena_->lend(piece); !lent.ok()) {
      let_go_of_slots(Transfer::Pieces(returns.begin(), returns.begin() + static_cast<std::ptrdiff_t>(i)));
      return lent;
    }
    piece.iov_mhandle = arena_->region();
    named.resize(returns.size());
    named[i] = {arena_->offset_of(piece.iov_base), static_cast<std::uint32_t>(piece.iov_len)};
  }
  return {};
}

void Peer::let_go_of_slots(const Transfer::Pieces& returns) {
  if (arena_ == nullptr) return;
  for (const exs_iovec_t& piece : returns)
    if (arena_->contains(piece.iov_base)) arena_->let_go(piece);
}

bool Peer::has_slots(const Request& request) const {
  return arena_ != nullptr &&
         std::any_of(request.returns.begin(), request.returns.end(),
                     [this](const exs_iovec_t& piece) { return arena_->contains(piece.iov_base); });
}

// The next places are slots with room for these long items.
bool Peer::are_written(const Request& request, const LongLengths& longs) const {
  if (lane_ == nullptr || longs.count > request.returns.size() - request.returns_used) return false;
  for (std::size_t i = 0; i < longs.count; ++i) {
    const exs_iovec_t& piece = request.returns[request.returns_used + i];
    if (longs.bytes[i] == 0) continue;
    if (longs.bytes[i] > piece.iov_len || !arena_->contains(piece.iov_base)) return false;
  }
  return true;
}

// ---------------------------------------------------------------- the lane

void Peer::want_lane() {
  if (arena_ == nullptr || state_ != State::kOpen || has_had_lane_ || is_closed_) return;
  has_had_lane_ = true;
  lane_ = host_.make_lane(*link_, alias_, *arena_, *this);
}

// Replies that the lane had to bring come again on another link. Without any such reply, later ones use the bulk.
void Peer::lane_has_gone() {
  lane_ = nullptr;
  if (is_closed_) return leave_if_done();
  if (link_ != nullptr && receiving_.has_lane_begun()) link_->end();
}

}  // namespace exs::svc
