// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/peer_reader.h"

#include "base/refusal.h"

namespace exs {

using proto::Direction;

Result<PeerReader> PeerReader::on(Library& library, int socket, std::int64_t timeout_ns) {
  auto waited = WaitedTransfers::on(library, socket);
  if (!waited) return failure(waited.error());
  if (!waited->target().session->allows_persistent()) return failure(no_windows());
  const std::uint64_t deadline_ns =
      timeout_ns < 0 ? kNoDeadline : Clock().deadline_after(static_cast<std::uint64_t>(timeout_ns));
  return PeerReader(library, std::move(*waited), deadline_ns);
}

PeerReader::PeerReader(Library& library, WaitedTransfers waited, std::uint64_t deadline_ns)
    : library_(library),
      waited_(std::move(waited)),
      request_(waited_.request(Direction::kReceive, 0)),
      deadline_ns_(deadline_ns) {}

Status PeerReader::read(const Piece& into, std::uint64_t offset) {
  if (const Status status = check_time(); !status.ok()) return status;
  proto::Operation operation = operation_at(offset);
  const Status posted = post_piece(library_, request_, waited_.target(), into, operation);
  return posted.ok() ? wait(into.length_bytes) : posted;
}

// Like read() of unregistered memory, without the check of a range that the caller names.
Status PeerReader::read_words(std::span<std::uint64_t> words, std::uint64_t offset) {
  if (const Status status = check_time(); !status.ok()) return status;
  const TransferTarget& target = waited_.target();
  auto attachment = Attachment::create(target.session->shard()->providers(), 1, 0);
  if (!attachment) return Status(ENOMEM);
  const auto memory = std::as_writable_bytes(words);
  if (const Status status = attachment->add(memory, Access::kLocal); !status.ok()) return status;
  OperationReservation reservation(target, Direction::kReceive, false);
  if (!reservation.status().ok()) return reservation.status();
  const Status posted =
      post_attached(reservation, request_, target, std::move(attachment), operation_at(offset));
  return posted.ok() ? wait(memory.size()) : posted;
}

Status PeerReader::count_retry() {
  met_update_ = true;
  waited_.target().session->count_snapshot_retry();
  if (signals_ == nullptr) signals_ = std::make_unique<HeldSignals>();
  return signals_->let_in();
}

Status PeerReader::count_snapshot() {
  waited_.target().session->count_snapshot();
  return {};
}

Status PeerReader::failed(cpp::detail::Progress progress, std::uint64_t offset) {
  if (progress != cpp::detail::Progress::kNoSlots) return Status(cpp::detail::errno_of(progress));
  return refuse(EINVAL, "there are no slots at offset {} of the peer's memory: exs_slots_init makes them",
                offset);
}

Status PeerReader::check_time() const {
  if (waited_.was_interrupted()) return Status(EINTR);
  if (!has_read_ || deadline_ns_ == kNoDeadline || Clock().now_ns() < deadline_ns_) return {};
  return Status(met_update_ ? EINPROGRESS : ETIMEDOUT);
}

proto::Operation PeerReader::operation_at(std::uint64_t offset) const {
  proto::Operation operation = operation_of(request_, waited_.target());
  operation.at_offset = true;
  operation.offset = offset;
  return operation;
}

// A read that can still be cancelled has found no persistent send of the peer.
Status PeerReader::wait(std::size_t length_bytes) {
  const auto moved = waited_.outcome(request_, deadline_ns_, Status(ENOMSG));
  if (!moved) return moved.error();
  has_read_ = true;
  return *moved == length_bytes ? Status() : Status(ECANCELED);
}

}  // namespace exs
