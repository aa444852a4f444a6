// The common path of all transfers, from the arguments of a call to the shard. All checks precede any change.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "event/queue/attachment.h"
#include "src/api/library.h"

namespace exs {

// The arguments of a post, but for its memory.
struct TransferRequest {
  proto::Direction direction = proto::Direction::kSend;
  int socket = -1;
  int flags = 0;
  exs_qhandle_t queue = EXS_QHANDLE_INVALID;
  exs_ahandle_t handle = nullptr;
};

// One piece of memory in the caller's terms.
struct Piece {
  std::byte* address = nullptr;
  std::size_t length_bytes = 0;
  exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED;
};

// Kinds of calls, which differ in the flags they take.
enum class CallKind : std::uint8_t { kPlain, kAtOffset, kVector, kSync };
// EOPNOTSUPP.
Status no_windows() noexcept;
Status check_flags(proto::Direction direction, int flags, CallKind kind);

// The session and the queue of a transfer. They live until the call ends: held here, or found in its
// ReadSection.
struct TransferTarget {
  Session* session = nullptr;
  EventQueue* queue = nullptr;
  std::shared_ptr<Socket> held_socket;
  std::shared_ptr<EventQueue> held_queue;
};
// EBADF; ENOTCONN; EOPNOTSUPP. Call peek_target() in a ReadSection. It holds nothing if possible. It fills
// the target in place: copying a fresh aggregate would stall the processor.
Status peek_target(Library& library, const TransferRequest& request, TransferTarget& target);
Result<TransferTarget> find_target(Library& library, const TransferRequest& request);
Result<TransferTarget> find_session(Library& library, int socket);  // without a queue

// Reserves one operation of the session and a slot of the queue, both or none. Gives them back unless an
// operation takes them over.
class OperationReservation {
 public:
  OperationReservation(const TransferTarget& target, proto::Direction direction, bool persistent);
  ~OperationReservation();
  OperationReservation(const OperationReservation&) = delete;
  OperationReservation& operator=(const OperationReservation&) = delete;
  // EAGAIN, EBUSY, ENOTCONN, EPIPE: nothing is reserved.
  [[nodiscard]] Status status() const noexcept { return status_; }
  void hand_over() noexcept { held_ = false; }
  void take_back() noexcept { held_ = true; }

 private:
  const TransferTarget& target_;
  const proto::Direction direction_;
  const bool persistent_;
  Status status_;
  bool held_ = false;
};

// The operation as the flags and the target determine it.
proto::Operation operation_of(const TransferRequest& request, const TransferTarget& target);

// The peer may read the memory of the send. False for a message inside its advertisement, and for a write.
// `memory` of the operation has the whole length.
inline bool is_exposed(const Session& session, const proto::Operation& operation) {
  // The peer does not read a message that travels inside its advertisement. A message at an offset is written if the place is
  // known when it leaves, else advertised.
  const bool is_carried = !operation.never_immediate && !operation.persistent && !operation.at_offset &&
                          operation.memory.length_bytes <= session.small_bytes();
  return !is_carried && !session.carries_plain_bytes();
}
// EFAULT: not mapped, or a receive may not write there. The memory is not empty.
Status check_unregistered(const Piece& piece, proto::Direction direction);
// EFAULT: not inside the region, or a receive may not write there; EACCES: the region lacks the right that the operation needs.
Status check_piece(const Piece& piece, const Region& region, const Session& session,
                   proto::Direction direction, const proto::Operation& operation);

// Posts one piece of memory, which it puts into the operation.
Status post_piece(Library& library, const TransferRequest& request, const TransferTarget& target,
                  const Piece& piece, proto::Operation& operation);
// Posts what `attachment` holds.
Status post_attached(OperationReservation& reservation, const TransferRequest& request,
                     const TransferTarget& target, Attachment::Owner attachment, proto::Operation operation);

}  // namespace exs
