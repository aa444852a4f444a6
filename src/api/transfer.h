// What all transfers have in common, from the arguments of a call to the shard. Everything that can be
// checked is checked before anything changes.
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

// One piece of memory, as the caller names it.
struct Piece {
  std::byte* address = nullptr;
  std::size_t length_bytes = 0;
  exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED;
};

// Kinds of calls, which differ in the flags they take.
enum class CallKind : std::uint8_t { kPlain, kAtOffset, kVector, kSync };
// EOPNOTSUPP.
Status check_flags(proto::Direction direction, int flags, CallKind kind);

// Who takes part in a post. Alive through the call: held here, or seen in the call's ReadSection.
struct TransferTarget {
  Session* session = nullptr;
  EventQueue* queue = nullptr;
  std::shared_ptr<Socket> held_socket;
  std::shared_ptr<EventQueue> held_queue;
};
// Both: EBADF; ENOTCONN; EOPNOTSUPP. In a ReadSection, without holding them where that can be; or anywhere.
Result<TransferTarget> peek_target(Library& library, const TransferRequest& request);
Result<TransferTarget> find_target(Library& library, const TransferRequest& request);
Result<TransferTarget> find_session(Library& library, int socket);  // without a queue

// One more operation at the session and a slot of the queue, both or none; given back unless an operation takes them
// over.
class OperationReservation {
 public:
  OperationReservation(const TransferTarget& target, proto::Direction direction, bool persistent);
  ~OperationReservation();
  OperationReservation(const OperationReservation&) = delete;
  OperationReservation& operator=(const OperationReservation&) = delete;
  // EAGAIN, EBUSY, ENOTCONN, EPIPE: none.
  [[nodiscard]] Status status() const noexcept { return status_; }
  void hand_over() noexcept { held_ = false; }

 private:
  const TransferTarget& target_;
  const proto::Direction direction_;
  const bool persistent_;
  Status status_;
  bool held_ = false;
};

// What the flags and the target say of the operation.
proto::Operation operation_of(const TransferRequest& request, const TransferTarget& target);

// Whether the peer may have to read the memory of the send: all but a message that travels inside its
// advertisement, and a write. `memory` of the operation has the whole length.
bool is_exposed(const Session& session, const proto::Operation& operation);
// EFAULT not inside; EACCES lacks the right that the operation needs.
Status check_piece(const Piece& piece, const Region& region, const Session& session,
                   proto::Direction direction, const proto::Operation& operation);

// A post of one piece of memory.
Status post_piece(Library& library, const TransferRequest& request, const TransferTarget& target,
                  const Piece& piece, proto::Operation operation);
// A post of what `attachment` holds.
Status post_attached(OperationReservation& reservation, const TransferRequest& request,
                     const TransferTarget& target, Attachment::Owner attachment, proto::Operation operation);

}  // namespace exs
